import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from marecg.errors import InputError
from marecg.evaluate.probe.linear import (
    ALPHAS,
    COARSE,
    EXACT,
    PATIENCE_STRENGTHS,
    STRENGTHS,
    UNSEEN_LOGIT,
    Part,
    choose_logistic,
    choose_ridge,
)
from marecg.evaluate.scores.metrics import macro_auc

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


def with_own(of: Part, own_MK: np.ndarray, weight_F: np.ndarray | None = None) -> Part:
    """The same records with a feature of its own for each class."""
    return Part(np.c_[of.x_MF, own_MK], of.y_MK, weight_F, class_wise=True)


def test_a_feature_of_its_own_is_read_by_its_class_alone():
    train, val = part(60, 0), part(40, 1)
    noise = np.random.default_rng(9)
    both = [with_own(each, 2.0 * each.y_MK + noise.random(each.y_MK.shape)) for each in (train, val)]
    logits_MK = choose_logistic(*both, strengths=(0.1,)).logits(both[0].x_MF)
    for k in range(2):
        columns = [*range(5), 5 + k]
        alone = [Part(each.x_MF[:, columns], each.y_MK[:, [k]]) for each in both]
        expected = choose_logistic(*alone, strengths=(0.1,)).logits(alone[0].x_MF)[:, 0]
        np.testing.assert_allclose(logits_MK[:, k], expected, atol=1e-6)


def test_features_of_the_classes_own_that_mislead_are_not_read():
    train, val = part(60, 0), part(40, 1)
    wrong = with_own(val, -2.0 * val.y_MK)
    misled, without = choose_logistic(with_own(train, 2.0 * train.y_MK), wrong), choose_logistic(train, val)
    assert misled.val_auc == without.val_auc
    np.testing.assert_array_equal(misled.logits(wrong.x_MF), without.logits(val.x_MF))


def test_a_class_that_train_does_not_show_is_ranked_by_its_own_feature_where_it_has_one():
    drawn, val = part(60, 0, classes=4), part(40, 1, classes=4)
    own_MK = np.random.default_rng(2).normal(size=(60, 4)) * [1, 1, 1, 0]
    drawn.y_MK[:, 2:] = 0
    train = with_own(drawn, own_MK, np.full(9, 2.0))
    fitted = choose_logistic(train, with_own(val, own_MK[:40]))
    logits_MK = fitted.logits(train.x_MF)
    assert fitted.untrained == (3,)
    np.testing.assert_array_equal(np.argsort(logits_MK[:, 2]), np.argsort(own_MK[:, 2]))
    assert logits_MK[:, 2].mean() == pytest.approx(-np.log(2 * 60 + 1)), "none of 60 was positive"
    assert logits_MK[:, 2].std() == pytest.approx(1)
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
    compared = [(strength, COARSE) for strength in STRENGTHS[: 1 + PATIENCE_STRENGTHS]]
    assert tried == [*compared, (STRENGTHS[0], EXACT)], "the strongest of equals is then made exact"
    assert choose_logistic(EASY, EASY).chosen == STRENGTHS[0]


def test_units_and_offsets_of_features_do_not_matter():
    train, val, test = part(50, 4), part(30, 5), part(20, 6)
    scaled = [Part(p.x_MF * 1e4 + 7, p.y_MK) for p in (train, val, test)]
    expected = choose_logistic(train, val).logits(test.x_MF)
    logits = choose_logistic(*scaled[:2]).logits(scaled[2].x_MF)
    np.testing.assert_allclose(logits, expected, atol=1e-8)


def test_standardisation_looks_at_the_training_records_only():
    train, val, x_MF = part(50, 7), part(30, 8), part(10, 9).x_MF
    far = Part(val.x_MF + 1000, val.y_MK)
    near_MK, far_MK = (choose_logistic(train, each, (0.1,)).logits(x_MF) for each in (val, far))
    np.testing.assert_array_equal(near_MK, far_MK)


@pytest.mark.parametrize("choose", [choose_logistic, choose_ridge])
def test_a_class_that_train_does_not_show_gives_one_logit_for_all_and_is_named(choose):
    train = part(30, 10)
    train.y_MK[:, 1] = 0
    probe = choose(train, part(30, 11))
    assert probe.untrained == (1,)
    assert np.ptp(probe.logits(part(10, 12).x_MF)[:, 1]) == 0


def test_a_constant_feature_and_more_features_than_records_do_no_harm():
    generator = np.random.default_rng(0)
    x_MF = np.c_[np.full(12, 5.0), generator.normal(size=(12, 100))]
    train = Part(x_MF, generator.integers(0, 2, (12, 2)).astype(np.uint8))
    assert np.isfinite(choose_logistic(train, train).logits(x_MF)).all()


@pytest.mark.parametrize("choose", [choose_logistic, choose_ridge])
@pytest.mark.parametrize("label", [0, 1])
def test_val_records_that_tell_no_classes_apart_are_refused(choose, label):
    val = Part(np.zeros((3, 5)), np.full((3, 2), label, np.uint8))
    with pytest.raises(InputError, match="among the 3 validation records, got none"):
        choose(part(30, 13), val)


@pytest.mark.parametrize("features", [4, 50])
def test_ridge_is_scikit_learns_at_the_alpha_that_is_best_on_val(features):
    train, val, test = (part(records, seed, features=features) for seed, records in enumerate((40, 30, 10)))
    scaler = StandardScaler().fit(train.x_MF)
    fits = [Ridge(alpha).fit(scaler.transform(train.x_MF), 2.0 * train.y_MK - 1) for alpha in ALPHAS]
    aucs = [macro_auc(val.y_MK, fit.predict(scaler.transform(val.x_MF))) for fit in fits]
    probe = choose_ridge(train, val)
    best = ALPHAS.index(probe.chosen)
    assert probe.val_auc == pytest.approx(max(aucs)) == pytest.approx(aucs[best])
    expected_MK = fits[best].predict(scaler.transform(test.x_MF))
    np.testing.assert_allclose(probe.logits(test.x_MF), expected_MK, atol=1e-8)


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


@pytest.mark.parametrize("choose", [choose_logistic, choose_ridge])
def test_features_of_float32_are_read_in_float64(choose):
    single = [
        Part(each.x_MF.astype(np.float32), each.y_MK)
        for each in (part(40, 0, features=50), part(30, 1, features=50))
    ]
    double = [Part(each.x_MF.astype(np.float64), each.y_MK) for each in single]
    one_MK, other_MK = (choose(*parts).logits(single[1].x_MF) for parts in (single, double))
    np.testing.assert_array_equal(one_MK, other_MK)
