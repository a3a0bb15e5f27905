import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marecg.evaluate.scores.metrics import class_auc, interval, macro_auc, resampled_macro_auc
from marecg.evaluate.scores.predictions import contributions, delong


def made(records: int, seed: int, classes: int = 1, quality: float = 1.0, seeds: int = 1) -> tuple:
    """Labels, and logits [S, M, K] that follow them, rounded so that there are ties."""
    generator = np.random.default_rng(seed)
    y_MK = (generator.random((records, classes)) < 0.4).astype(np.uint8)
    y_MK[:2], y_MK[2:4] = 0, 1
    logits_SMK = quality * y_MK + generator.normal(size=(seeds, records, classes))
    return y_MK, logits_SMK.round(1)


def slow_covariance(y_M: np.ndarray, scores: list[np.ndarray]) -> np.ndarray:
    """DeLong's covariance of several AUCs from all pairs of a positive and a negative."""

    def placed(score_M: np.ndarray) -> np.ndarray:
        positive, negative = score_M[y_M == 1][:, None], score_M[y_M == 0][None]
        return (positive > negative) + 0.5 * (positive == negative)

    wins = [placed(score_M) for score_M in scores]
    of_positives = np.cov([win.mean(axis=1) for win in wins]).reshape(len(wins), -1)
    of_negatives = np.cov([win.mean(axis=0) for win in wins]).reshape(len(wins), -1)
    return of_positives / (y_M == 1).sum() + of_negatives / (y_M == 0).sum()


def test_by_hand():
    # Of the six pairs 4.5 are in order: AUC 3/4. The positives win 1/2 and 1 of their pairs, the negatives
    # lose 1/2, 3/4 and 1: variance (1/8)/2 + (1/16)/3.
    y_M, logits_M = np.array([0, 1, 0, 0, 1], np.uint8), np.array([0.5, 0.4, 0.4, 0.1, 0.9])
    auc, added_M = contributions(y_M, logits_M)
    assert auc == pytest.approx(0.75)
    assert (added_M**2).sum() == pytest.approx(1 / 16 + 1 / 48)


@given(st.integers(6, 40), st.integers(0, 50))
def test_one_class_is_delongs_variance_from_all_pairs(records, seed):
    y_MK, (logits_MK,) = made(records, seed)
    auc, added_M = contributions(y_MK[:, 0], logits_MK[:, 0])
    assert auc == pytest.approx(class_auc(y_MK, logits_MK)[0])
    assert (added_M**2).sum() == pytest.approx(slow_covariance(y_MK[:, 0], [logits_MK[:, 0]])[0, 0])


@given(st.integers(8, 40), st.integers(0, 50))
def test_the_difference_of_two_methods_has_the_variance_of_the_covariance_matrix(records, seed):
    y_MK, (one_MK,) = made(records, seed)
    other_MK = one_MK + np.random.default_rng(seed + 1000).normal(size=one_MK.shape)
    covariance = slow_covariance(y_MK[:, 0], [one_MK[:, 0], other_MK[:, 0]])
    expected = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    result = delong(y_MK, one_MK[None], other_MK[None])
    assert ((result.high - result.low) / 2 / 1.959964) ** 2 == pytest.approx(expected, rel=1e-5)


def test_a_class_given_three_times_weighs_as_one():
    y_MK, one_SMK = made(60, 3)
    other_SMK = np.random.default_rng(9).normal(size=one_SMK.shape)
    once = delong(y_MK, one_SMK, other_SMK)
    thrice = delong(*(np.repeat(each, 3, axis=-1) for each in (y_MK, one_SMK, other_SMK)))
    np.testing.assert_allclose(list(thrice.model_dump().values()), list(once.model_dump().values()))


def test_over_classes_and_seeds_the_spread_is_that_of_the_bootstrap():
    y_MK, one_SMK = made(400, 0, classes=4, quality=1.2, seeds=3)
    _, other_SMK = made(400, 0, classes=4, quality=1.0, seeds=3)
    result = delong(y_MK, one_SMK, other_SMK)
    low, high = interval(resampled_macro_auc(y_MK, one_SMK) - resampled_macro_auc(y_MK, other_SMK))
    one, other = (np.mean([macro_auc(y_MK, x) for x in each]) for each in (one_SMK, other_SMK))
    assert result.mean == pytest.approx(one - other)
    assert result.high - result.low == pytest.approx(high - low, rel=0.1)


def test_p_is_small_where_the_interval_leaves_out_zero_and_one_for_equals():
    y_MK, good_SMK = made(200, 1, classes=2, quality=3.0)
    _, poor_SMK = made(200, 2, classes=2, quality=0.0)
    result = delong(y_MK, good_SMK, poor_SMK)
    assert result.low > 0
    assert result.p < 0.001
    assert delong(y_MK, good_SMK, good_SMK).p == 1


def test_under_the_null_p_is_spread_evenly():
    p = []
    for seed in range(200):
        y_MK, one_SMK = made(80, seed, classes=2)
        other_SMK = y_MK + np.random.default_rng(seed + 5000).normal(size=one_SMK.shape)
        p.append(delong(y_MK, one_SMK, other_SMK).p)
    assert np.mean(np.array(p) < 0.1) == pytest.approx(0.1, abs=0.06)


def test_classes_without_an_auc_take_no_part():
    y_MK, one_SMK = made(50, 5, classes=2)
    y_MK[:, 1] = 0
    assert delong(y_MK, one_SMK, -one_SMK) == delong(y_MK[:, :1], one_SMK[:, :, :1], -one_SMK[:, :, :1])
