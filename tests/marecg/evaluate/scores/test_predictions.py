import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marecg.errors import InputError, UsageError
from marecg.evaluate.scores.metrics import class_auc, interval, macro_auc, resampled_macro_auc
from marecg.evaluate.scores.predictions import (
    Predictions,
    compare,
    contributions,
    delong,
    load,
    save,
    scarce,
)
from marecg.evaluate.scores.summary import difference


def made(seed: int = 0, quality: float = 1.0) -> Predictions:
    y = (np.random.default_rng(0).random((60, 3)) < 0.4).astype(np.uint8)
    noise = np.random.default_rng(seed).normal(size=(2, 60, 3))
    ids = tuple(f"r{i}" for i in range(60))
    return Predictions(ids, ("CD", "MI", "STTC"), y, {("encoder", 0.1): quality * y + noise}, "encoder")


def test_what_is_saved_is_loaded_again(tmp_path):
    predictions = made()
    save(tmp_path / "p.npz", predictions)
    loaded = load(tmp_path / "p.npz")
    np.testing.assert_equal(
        loaded._asdict() if hasattr(loaded, "_asdict") else vars(loaded), vars(predictions)
    )


def test_two_runs_are_compared_on_the_same_records_and_both_tests_agree():
    good, bad = made(1, quality=2.0), made(2, quality=0.5)
    aucs = [np.mean([macro_auc(run.y_MK, x) for x in run.logits["encoder", 0.1]]) for run in (good, bad)]
    resampled, direct = (compare(good, bad, test)[0.1] for test in ("bootstrap", "delong"))
    for each in (resampled, direct):
        assert 0 < each.low < each.mean < each.high
        assert each.mean == pytest.approx(aucs[0] - aucs[1])
        assert each.p < 0.01
    assert resampled.high - resampled.low == pytest.approx(direct.high - direct.low, rel=0.2)


@pytest.mark.parametrize("test", ["bootstrap", "delong"])
def test_a_run_does_not_differ_from_itself(test):
    assert list(compare(made(), made(), test)[0.1].model_dump().values()) == [0, 0, 0, 1]


def test_p_counts_the_rarer_side_of_zero_twice_and_itself():
    """Of 99 resamples 4 are not above zero: 2 (1 + 4) / (1 + 99)."""
    resampled = np.concatenate([np.full(4, -0.01), np.full(95, 0.03)])
    for sign in (1, -1):
        result = difference(sign * 0.02, sign * resampled, np.zeros(99))
        assert result.p == pytest.approx(0.1)
        assert result.low <= result.mean <= result.high


def test_each_run_is_represented_by_what_it_is_about():
    encoder, other = made(1, quality=2.0), made(2)
    renamed = replace(other, logits={("ECG-FM", 0.1): other.logits["encoder", 0.1]}, reference="ECG-FM")
    assert compare(encoder, renamed) == compare(encoder, other)


def test_runs_on_other_records_labels_or_fractions_are_not_compared():
    one = made()
    flipped_MK = one.y_MK ^ (np.arange(180) == 0).reshape(60, 3)
    for other in ({"y_MK": flipped_MK}, {"classes": one.classes[::-1]}, {"ids": one.ids[::-1]}):
        with pytest.raises(UsageError, match="different test records or labels"):
            compare(one, replace(one, **other))
    with pytest.raises(UsageError, match="no fraction in common"):
        compare(one, replace(one, logits={("encoder", 1.0): one.logits["encoder", 0.1]}))


def test_damaged_predictions_are_named(tmp_path):
    (tmp_path / "p.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"p\.npz"):
        load(tmp_path / "p.npz")


def test_of_a_task_that_was_not_probed_it_is_said_which_ones_were(tmp_path):
    save(tmp_path / "run/probe/fast-strict.npz", made())
    with pytest.raises(
        InputError, match=r"run: has no probe of task slow by protocol strict\. Choose fast-strict by --task"
    ):
        load(tmp_path / "run/probe/slow-strict.npz")
    with pytest.raises(InputError, match=r"has no probe of task slow .*marecg probe"):
        load(tmp_path / "other/probe/slow-strict.npz")


def test_classes_with_few_positives_or_few_negatives_are_named_and_those_without_any_are_not():
    y = np.zeros((30, 4), np.uint8)
    y[:9, 0] = y[:10, 1] = y[:28, 2] = 1
    classes = ("few", "enough", "rarely not", "never")
    predictions = Predictions(tuple(map(str, range(30))), classes, y, {}, "encoder")
    assert scarce(predictions) == {"few": 9, "rarely not": 2}


def test_the_example_on_the_page_runs(tmp_path, monkeypatch):
    page = Path(__file__).parents[4] / "docs/evaluation/index.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    predictions = replace(made(), logits={("encoder", 1.0): made().logits["encoder", 0.1]})
    save(tmp_path / "runs/c3/probe/ptbxl-super-strict.npz", predictions)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code, names)  # noqa: S102 (our own page)
    assert names["logits"].shape == (2, 60, 3)


def drawn(records: int, seed: int, classes: int = 1, quality: float = 1.0, seeds: int = 1) -> tuple:
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
    y_MK, (logits_MK,) = drawn(records, seed)
    auc, added_M = contributions(y_MK[:, 0], logits_MK[:, 0])
    assert auc == pytest.approx(class_auc(y_MK, logits_MK)[0])
    assert (added_M**2).sum() == pytest.approx(slow_covariance(y_MK[:, 0], [logits_MK[:, 0]])[0, 0])


@given(st.integers(8, 40), st.integers(0, 50))
def test_the_difference_of_two_methods_has_the_variance_of_the_covariance_matrix(records, seed):
    y_MK, (one_MK,) = drawn(records, seed)
    other_MK = one_MK + np.random.default_rng(seed + 1000).normal(size=one_MK.shape)
    covariance = slow_covariance(y_MK[:, 0], [one_MK[:, 0], other_MK[:, 0]])
    expected = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    result = delong(y_MK, one_MK[None], other_MK[None])
    assert ((result.high - result.low) / 2 / 1.959964) ** 2 == pytest.approx(expected, rel=1e-5)


def test_a_class_given_three_times_weighs_as_one():
    y_MK, one_SMK = drawn(60, 3)
    other_SMK = np.random.default_rng(9).normal(size=one_SMK.shape)
    once = delong(y_MK, one_SMK, other_SMK)
    thrice = delong(*(np.repeat(each, 3, axis=-1) for each in (y_MK, one_SMK, other_SMK)))
    np.testing.assert_allclose(list(thrice.model_dump().values()), list(once.model_dump().values()))


def test_over_classes_and_seeds_the_spread_is_that_of_the_bootstrap():
    y_MK, one_SMK = drawn(400, 0, classes=4, quality=1.2, seeds=3)
    _, other_SMK = drawn(400, 0, classes=4, quality=1.0, seeds=3)
    result = delong(y_MK, one_SMK, other_SMK)
    low, high = interval(resampled_macro_auc(y_MK, one_SMK) - resampled_macro_auc(y_MK, other_SMK))
    one, other = (np.mean([macro_auc(y_MK, x) for x in each]) for each in (one_SMK, other_SMK))
    assert result.mean == pytest.approx(one - other)
    assert result.high - result.low == pytest.approx(high - low, rel=0.1)


def test_p_is_small_where_the_interval_leaves_out_zero_and_one_for_equals():
    y_MK, good_SMK = drawn(200, 1, classes=2, quality=3.0)
    _, poor_SMK = drawn(200, 2, classes=2, quality=0.0)
    result = delong(y_MK, good_SMK, poor_SMK)
    assert result.low > 0
    assert result.p < 0.001
    assert delong(y_MK, good_SMK, good_SMK).p == 1


def test_under_the_null_p_is_spread_evenly():
    p = []
    for seed in range(200):
        y_MK, one_SMK = drawn(80, seed, classes=2)
        other_SMK = y_MK + np.random.default_rng(seed + 5000).normal(size=one_SMK.shape)
        p.append(delong(y_MK, one_SMK, other_SMK).p)
    assert np.mean(np.array(p) < 0.1) == pytest.approx(0.1, abs=0.06)


def test_classes_without_an_auc_take_no_part():
    y_MK, one_SMK = drawn(50, 5, classes=2)
    y_MK[:, 1] = 0
    assert delong(y_MK, one_SMK, -one_SMK) == delong(y_MK[:, :1], one_SMK[:, :, :1], -one_SMK[:, :, :1])
