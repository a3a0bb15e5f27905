import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from marecg.base.errors import InputError
from marecg.evaluate.probe.linear import (
    COARSE,
    EXACT,
    PATIENCE,
    STRENGTHS,
    UNSEEN_LOGIT,
    Part,
    choose_logistic,
    choose_ridge,
)

EASY = Part(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[0], [0], [1], [1]], np.uint8))


def part(records: int, seed: int, classes: int = 2, features: int = 5) -> Part:
    """Labels that follow the first features, with noise."""
    generator = np.random.default_rng(seed)
    x_MF = generator.normal(3, 2, (records, features))
    noise_MK = generator.normal(0, 2, (records, classes))
    return Part(x_MF, (x_MF[:, :classes] + noise_MK > 3).astype(np.uint8))


@pytest.mark.parametrize("features", [5, 80], ids=["fewer features than records", "more"])
def test_the_logits_are_those_of_a_slow_logistic_regression(features):
    train = part(60, 0, features=features)
    probe = choose_logistic(train, part(40, 1, features=features), strengths=(0.1,))
    x_MF = (train.x_MF - train.x_MF.mean(0)) / train.x_MF.std(0)

    def loss(weights: np.ndarray, y_M: np.ndarray) -> float:
        logits_M = x_MF @ weights[:-1] + weights[-1]
        return float(
            np.logaddexp(0, logits_M).sum() - y_M @ logits_M + weights[:-1] @ weights[:-1] / (2 * 0.1)
        )

    slow = [minimize(loss, np.zeros(features + 1), args=(y_M,), tol=1e-10).x for y_M in train.y_MK.T]
    expected_MK = np.stack([x_MF @ weights[:-1] + weights[-1] for weights in slow], axis=1)
    np.testing.assert_allclose(probe.logits(train.x_MF), expected_MK, atol=1e-4)


def test_a_feature_of_its_own_is_read_by_its_class_alone():
    train, val = part(60, 0), part(40, 1)
    own_MK, val_own_MK = (
        2.0 * each.y_MK + np.random.default_rng(9).random(each.y_MK.shape) for each in (train, val)
    )
    both = (
        Part(np.c_[each.x_MF, own], each.y_MK, own=True) for each, own in ((train, own_MK), (val, val_own_MK))
    )
    logits = choose_logistic(*both, strengths=(0.1,)).logits
    for k in range(2):
        alone = Part(np.c_[train.x_MF, own_MK[:, k]], train.y_MK[:, [k]])
        beside = Part(np.c_[val.x_MF, val_own_MK[:, k]], val.y_MK[:, [k]])
        expected = choose_logistic(alone, beside, strengths=(0.1,)).logits(alone.x_MF)[:, 0]
        np.testing.assert_allclose(logits(np.c_[train.x_MF, own_MK])[:, k], expected, atol=1e-6)


def test_features_of_the_classes_own_that_mislead_are_not_read():
    train, val = part(60, 0), part(40, 1)
    right_MK, wrong_MK = 2.0 * train.y_MK, -2.0 * val.y_MK
    misled = choose_logistic(
        Part(np.c_[train.x_MF, right_MK], train.y_MK, own=True),
        Part(np.c_[val.x_MF, wrong_MK], val.y_MK, own=True),
    )
    without = choose_logistic(train, val)
    assert misled.val_auc == without.val_auc
    np.testing.assert_array_equal(misled.logits(np.c_[val.x_MF, wrong_MK]), without.logits(val.x_MF))


def test_a_class_that_train_does_not_show_is_ranked_by_its_own_feature_where_it_has_one():
    drawn, val = part(60, 0, classes=4), part(40, 1, classes=4)
    own_MK = np.random.default_rng(2).normal(size=(60, 4)) * [1, 1, 1, 0]
    drawn.y_MK[:, 2:] = 0
    train = Part(np.c_[drawn.x_MF, own_MK], drawn.y_MK, np.full(9, 2.0), own=True)
    fitted = choose_logistic(train, Part(np.c_[val.x_MF, own_MK[:40]], val.y_MK, own=True))
    logits_MK = fitted.logits(train.x_MF)
    assert fitted.untrained == (3,)
    np.testing.assert_array_equal(np.argsort(logits_MK[:, 2]), np.argsort(own_MK[:, 2]))
    assert set(logits_MK[:, 3]) == {UNSEEN_LOGIT}


def test_the_chosen_strength_has_the_best_val_auc_of_all_candidates():
    train, val = part(30, 2), part(200, 3)
    alone = {strength: choose_logistic(train, val, (strength,)).val_auc for strength in STRENGTHS}
    probe = choose_logistic(train, val)
    assert probe.val_auc == pytest.approx(max(alone.values()), abs=1e-3)
    assert alone[probe.chosen] == pytest.approx(probe.val_auc, abs=1e-3)


def test_weaker_strengths_are_not_tried_after_three_without_a_gain(monkeypatch):
    tried: list[tuple[float, float]] = []
    fit = LogisticRegression.fit

    def watched(self, x_MF, y_M):
        tried.append((self.C, self.tol))
        return fit(self, x_MF, y_M)

    monkeypatch.setattr(LogisticRegression, "fit", watched)
    choose_logistic(EASY, EASY)
    compared = [(strength, COARSE) for strength in STRENGTHS[: 1 + PATIENCE]]
    assert tried == [*compared, (STRENGTHS[0], EXACT)], "the chosen one is then made exact"


def test_of_equally_good_strengths_the_strongest_is_kept():
    assert choose_logistic(EASY, EASY).chosen == STRENGTHS[0]


def test_units_and_offsets_of_features_do_not_matter():
    train, val, test = part(50, 4), part(30, 5), part(20, 6)
    scaled = [Part(p.x_MF * 1e4 + 7, p.y_MK) for p in (train, val, test)]
    expected = choose_logistic(train, val).logits(test.x_MF)
    np.testing.assert_allclose(
        choose_logistic(scaled[0], scaled[1]).logits(scaled[2].x_MF), expected, atol=1e-8
    )


def test_standardisation_looks_at_the_training_records_only():
    train, val = part(50, 7), part(30, 8)
    far = Part(val.x_MF + 1000, val.y_MK)
    x_MF = part(10, 9).x_MF
    np.testing.assert_array_equal(
        choose_logistic(train, val, (0.1,)).logits(x_MF), choose_logistic(train, far, (0.1,)).logits(x_MF)
    )


def test_a_class_that_train_does_not_show_gives_one_logit_for_all_and_is_named():
    train = part(30, 10)
    train.y_MK[:, 1] = 0
    probe = choose_logistic(train, part(30, 11))
    assert probe.untrained == (1,)
    assert np.ptp(probe.logits(part(10, 12).x_MF)[:, 1]) == 0


def test_a_constant_feature_and_more_features_than_records_do_no_harm():
    generator = np.random.default_rng(0)
    x_MF = np.c_[np.full(12, 5.0), generator.normal(size=(12, 100))]
    train = Part(x_MF, generator.integers(0, 2, (12, 2)).astype(np.uint8))
    assert np.isfinite(choose_logistic(train, train).logits(x_MF)).all()


def test_val_records_that_tell_no_classes_apart_are_refused():
    val = Part(np.zeros((3, 5)), np.zeros((3, 2), np.uint8))
    with pytest.raises(InputError, match="none of the 3 validation records"):
        choose_logistic(part(30, 13), val)


@pytest.mark.parametrize("choose", [choose_logistic, choose_ridge])
def test_weights_count_once_the_features_are_standardised(choose):
    generator = np.random.default_rng(0)
    x_MF = generator.normal(size=(60, 4)) * [1, 10, 100, 1]
    y_MK = (x_MF[:, :1] + generator.normal(size=(60, 1)) > 0).astype(np.uint8)
    weight_F = np.array([3.0, 0.5, 1e-9, 1.0])
    rows = slice(40), slice(40, 60)
    weighed = choose(*(Part(x_MF[each], y_MK[each], weight_F) for each in rows))
    scaled_MF = (x_MF - x_MF[:40].mean(0)) / x_MF[:40].std(0)
    at_once = weighed.logits(x_MF)
    changed = x_MF.copy()
    changed[:, 2] += 1e3  # what weighs nothing says nothing
    np.testing.assert_allclose(weighed.logits(changed), at_once, atol=1e-3)
    alike = choose(*(Part(scaled_MF[each], y_MK[each]) for each in rows)).logits(scaled_MF)
    assert np.abs(alike - at_once).max() > 1e-3
