"""AUC, average precision, their intervals, and figures by age, sex and source."""

import doctest
import importlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from marecg.evaluate.scores.metrics import (
    age_bands,
    class_ap,
    class_auc,
    f_max,
    group_figures,
    interval,
    macro_auc,
    resampled_macro_auc,
    scorable,
    scored,
)


def slow_auc(y_M: np.ndarray, logits_M: np.ndarray) -> float:
    """The share of (positive, negative) pairs in the right order; a tie is half a pair."""
    return float(np.mean((np.sign(logits_M[y_M == 1][:, None] - logits_M[y_M == 0]) + 1) / 2))


def test_a_perfect_order_scores_one_and_the_reverse_zero():
    y = np.array([[0, 1], [0, 1], [1, 0]], np.uint8)
    logits = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert class_auc(y, logits).tolist() == [1.0, 0.0]
    assert macro_auc(y, logits) == 0.5
    assert class_auc(y, np.zeros((3, 2))).tolist() == [0.5, 0.5], "equal logits score a half"


def test_a_class_without_positives_or_without_negatives_is_left_out_of_the_mean():
    y = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 1]], np.uint8)
    logits = np.array([[0.1, 3.0, 1.0], [0.1, 2.0, 0.0], [0.9, 1.0, 2.0]])
    assert scorable(y).tolist() == [True, False, False]
    np.testing.assert_array_equal(class_auc(y, logits), [0.75, np.nan, np.nan])
    assert macro_auc(y, logits) == 0.75
    assert np.isnan(macro_auc(y[:, 1:], logits[:, 1:])), "without any class there is no mean"
    assert np.isnan(class_ap(y, logits)).tolist() == [False, True, True]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=30))
def test_the_auc_is_the_share_of_ordered_pairs_and_agrees_with_scikit_learn(records):
    y_M, logits_M = np.array(records).T
    if 0 < y_M.sum() < len(y_M):
        auc = class_auc(y_M[:, None].astype(np.uint8), logits_M[:, None].astype(float))[0]
        assert auc == pytest.approx(slow_auc(y_M, logits_M), abs=1e-12)
        assert auc == pytest.approx(roc_auc_score(y_M, logits_M), abs=1e-12)


def test_average_precision_of_a_perfect_order_is_one_and_of_a_coin_is_the_prevalence():
    y = np.array([[1, 1], [0, 0], [1, 1], [0, 0]], np.uint8)
    logits = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    assert class_ap(y, logits).tolist() == [1.0, 0.5]


def slow_bootstrap(y_MK: np.ndarray, logits_SMK: np.ndarray, resamples: int) -> list[float]:
    """Weight every pair of a positive and a negative by both records' weights."""
    weights = np.random.default_rng(0).dirichlet(np.ones(len(y_MK)), size=resamples)
    classes = np.flatnonzero(scorable(y_MK))
    values = []
    for weight_M in weights:
        auc_SK = []
        for logits_MK in logits_SMK:
            for k in classes:
                positive, negative = y_MK[:, k] == 1, y_MK[:, k] == 0
                right = (np.sign(logits_MK[positive, k][:, None] - logits_MK[negative, k]) + 1) / 2
                pair = weight_M[positive][:, None] * weight_M[negative]
                auc_SK.append((right * pair).sum() / pair.sum())
        values.append(np.mean(auc_SK) if auc_SK else np.nan)
    return values


@given(st.integers(0, 10**6))
def test_average_precision_agrees_with_scikit_learn(seed):
    generator = np.random.default_rng(seed)
    y_MK = np.r_[generator.integers(0, 2, (20, 3)), [[0, 0, 0], [1, 1, 1]]].astype(np.uint8)
    logits_MK = generator.normal(size=y_MK.shape).round(1)
    expected = average_precision_score(y_MK, logits_MK, average=None)
    np.testing.assert_allclose(class_ap(y_MK, logits_MK), expected)


def slow_f_max(y_MK: np.ndarray, logits_MK: np.ndarray) -> float:
    """As PTB-XL's benchmark says it, threshold by threshold."""
    y_MK, logits_MK = y_MK[y_MK.any(axis=1)], logits_MK[y_MK.any(axis=1)]
    best = 0.0
    for threshold in np.unique(logits_MK):
        said_MK = logits_MK >= threshold
        true_M, said_M = (said_MK & (y_MK == 1)).sum(axis=1), said_MK.sum(axis=1)
        precision = (true_M[said_M > 0] / said_M[said_M > 0]).mean()
        recall = (true_M / y_MK.sum(axis=1)).mean()
        best = max(best, 2 * precision * recall / (precision + recall) if precision + recall else 0)
    return float(best)


@given(st.integers(0, 10**6), st.integers(0, 2))
def test_f_max_is_that_of_every_threshold_tried_and_ties_are_said_together(seed, digits):
    generator = np.random.default_rng(seed)
    y_MK = generator.integers(0, 2, (15, 4)).astype(np.uint8)
    logits_MK = generator.normal(size=y_MK.shape).round(digits)
    assert f_max(y_MK, logits_MK) == pytest.approx(slow_f_max(y_MK, logits_MK))


def test_f_max_of_a_perfect_order_is_one_of_no_label_nothing_and_only_the_order_counts():
    y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0]], np.uint8)
    assert f_max(y, 2.0 * y) == 1
    assert np.isnan(f_max(y[2:], y[2:].astype(float)))
    logits = np.random.default_rng(0).normal(size=y.shape)
    assert f_max(y, logits) == f_max(y, np.exp(3 * logits))


def test_resampled_aucs_are_those_of_a_slow_bootstrap_with_ties_and_missing_classes():
    generator = np.random.default_rng(1)
    y = (generator.random((15, 3)) < (0.5, 0.1, 0.0)).astype(np.uint8)
    logits = generator.integers(0, 4, (2, 15, 3)).astype(float)
    np.testing.assert_allclose(resampled_macro_auc(y, logits, 50), slow_bootstrap(y, logits, 50), atol=1e-12)


def test_a_class_with_one_positive_is_in_every_resample():
    y = np.zeros((40, 2), np.uint8)
    y[:20, 0] = y[0, 1] = 1
    logits = np.zeros((1, 40, 2))
    logits[0, :, 0] = y[:, 0]  # perfectly ranked: 1 under any weights
    logits[0, :, 1] = 1 - y[:, 1]  # the single positive comes last: 0 under any weights
    np.testing.assert_allclose(resampled_macro_auc(y, logits, 200), 0.5, atol=1e-12)


def test_the_interval_holds_the_estimate_and_narrows_with_more_records():
    generator = np.random.default_rng(2)

    def width(records: int) -> float:
        y = (generator.random((records, 2)) < 0.4).astype(np.uint8)
        logits = y + generator.normal(0, 1.5, y.shape)
        low, high = interval(resampled_macro_auc(y, logits[None]))
        assert low < macro_auc(y, logits) < high
        return high - low

    assert width(1600) < 0.5 * width(100)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(3)
    truth = 0.7602  # P(N(1, 1) > N(0, 1)) = Φ(1/√2)
    held = 0
    for _ in range(200):
        y = (np.arange(120) < 60).astype(np.uint8)[:, None]
        logits = y + generator.normal(size=y.shape)
        low, high = interval(resampled_macro_auc(y, logits[None], resamples=200))
        held += low < truth < high
    assert 0.88 <= held / 200 <= 0.99


def test_the_same_records_are_resampled_alike_so_methods_can_be_paired():
    y = (np.random.default_rng(4).random((40, 2)) < 0.5).astype(np.uint8)
    logits = np.random.default_rng(5).normal(size=(1, 40, 2))
    np.testing.assert_array_equal(resampled_macro_auc(y, logits), resampled_macro_auc(y, 2 * logits + 1))


@pytest.mark.parametrize("module", ["scores.metrics", "scores.summary", "tasks.task"])
def test_the_examples_in_the_docstrings_hold(module):
    results = doctest.testmod(importlib.import_module(f"marecg.evaluate.{module}"))
    assert results.attempted > 0
    assert results.failed == 0


def test_ages_lie_in_bands_that_begin_where_the_last_one_ended():
    bands = age_bands(pd.Series([0, 39.5, 40, 79, 80, 101, np.nan])).astype(object).fillna("").tolist()
    assert bands == ["0–39", "0–39", "40–59", "60–79", "80+", "80+", ""]


def test_a_group_is_judged_on_the_classes_that_it_has_enough_of_beside_everyone_on_the_same():
    generator = np.random.default_rng(0)
    sex = ["F"] * 40 + ["M"] * 60 + [None] * 10
    y_MK = (generator.random((110, 2)) < 0.4).astype(np.uint8)
    y_MK[:40, 1] = np.arange(40) < 4  # four women have the second class: too few
    logits_SMK = y_MK + generator.normal(0, 1, (3, 110, 2))
    people = {"sex": sex, "source": ["one"] * 110, "age": [50.0] * 110}
    women, men = group_figures(people, y_MK, logits_SMK)
    assert (women.kind, women.name, women.records, women.classes) == ("sex", "F", 40, 1)
    assert (men.name, men.records, men.classes) == ("M", 60, 2)

    def mean_auc(rows: slice, classes: list[int]) -> float:
        return float(np.mean([class_auc(y_MK[rows], each[rows])[classes].mean() for each in logits_SMK]))

    assert women.auc == pytest.approx(mean_auc(slice(40), [0]))
    assert women.everyone == pytest.approx(mean_auc(slice(110), [0]))
    assert men.auc == pytest.approx(mean_auc(slice(40, 100), [0, 1]))
    assert women.low < women.auc < women.high


def test_a_rotation_in_which_a_class_cannot_be_told_takes_no_part():
    generator = np.random.default_rng(0)
    y_M1 = (generator.random((60, 1)) < 0.4).astype(np.uint8)
    y_M1[20:40] = 0
    logits_SM1 = y_M1 + generator.normal(0, 1, (2, 60, 1))
    auc, low, high = scored(y_M1, logits_SM1, np.repeat([0, 1, 2], 20))
    whole = (slice(20), slice(40, 60))
    parts = [class_auc(y_M1[rows], each[rows])[0] for rows in whole for each in logits_SM1]
    assert auc == pytest.approx(np.mean(parts))
    assert low < auc < high


def test_no_resample_of_a_perfect_ranking_is_above_one():
    y = (np.arange(60) % 3 == 0)[:, None].astype(np.uint8)
    logits = y + np.linspace(0, 0.5, 60)[:, None]
    assert resampled_macro_auc(y, logits[None], 300).max() == 1.0
