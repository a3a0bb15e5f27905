"""A head of several views: classifiers of some columns each, whose logits are averaged."""

import numpy as np
import pytest

from marecg.evaluate.probe.linear import Part, choose_averaged, choose_logistic, choose_ridge
from marecg.use.classifying.logistic import class_weights, fit_logistic, fit_views

VIEWS = (slice(0, 5), slice(5, 9))


def drawn(records: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Nine values, and three classes that hang on one of each view; the last has no positive."""
    draw = np.random.default_rng(seed)
    x_MW = draw.normal(size=(records, 9)) * np.r_[np.ones(5), np.full(4, 30.0)]
    score_MK = np.stack([x_MW[:, 0] + x_MW[:, 6] / 30, x_MW[:, 1] - x_MW[:, 8] / 30], 1)
    y_MK = score_MK + draw.normal(size=(records, 2)) > 0
    return x_MW, np.c_[y_MK, np.zeros(records, bool)].astype(np.float64)


def test_a_heads_logits_are_the_mean_of_its_views_each_in_units_of_its_spread():
    (x_MW, y_MK), (val_x, val_y) = drawn(80, 0), drawn(60, 1)
    weights = [class_weights(y, y_MK, False) for y in (y_MK, val_y)]
    head = fit_views(x_MW, y_MK, weights[0], val_x, val_y, weights[1], VIEWS)
    mean_W, scale_W, weight_KW, bias_K, _ = head
    logits_MK = ((val_x - mean_W) / scale_W) @ weight_KW.T + bias_K
    views = []
    for each in VIEWS:
        mean, scale, weight, bias, _ = fit_logistic(
            x_MW[:, each], y_MK, weights[0], val_x[:, each], val_y, weights[1]
        )
        views.append(((val_x[:, each] - mean) / scale) @ weight.T + bias)
    spread_VK, middle_VK = np.std(views, axis=1), np.mean(views, axis=1)
    for k in (0, 1):
        standard = np.mean([(v[:, k] - v[:, k].mean()) / v[:, k].std() for v in views], axis=0)
        expected_M = standard * spread_VK[:, k].mean() + middle_VK[:, k].mean()
        np.testing.assert_allclose(logits_MK[:, k], expected_M, rtol=1e-8)
    assert np.ptp(logits_MK[:, 2]) == 0, "a class without positives has no weights"
    crossed = [
        fit_logistic(x_MW[:, each], y_MK, weights[0], val_x[:, each], val_y, weights[1]).val_MK
        for each in VIEWS
    ]
    for k in (0, 1):
        factor_V = spread_VK[:, k].mean() / spread_VK[:, k] / 2
        shifted = [f * (z[:, k] - m) for f, z, m in zip(factor_V, crossed, middle_VK[:, k], strict=True)]
        np.testing.assert_allclose(head.val_MK[:, k], sum(shifted) + middle_VK[:, k].mean(), rtol=1e-8)


def test_one_view_is_its_own_head_and_one_that_tells_nothing_apart_does_not_count():
    (x_MW, y_MK), (val_x, val_y) = drawn(80, 0), drawn(60, 1)
    weights = [class_weights(y, y_MK, False) for y in (y_MK, val_y)]
    alone = fit_logistic(x_MW[:, :5], y_MK, weights[0], val_x[:, :5], val_y, weights[1])
    one = fit_views(x_MW[:, :5], y_MK, weights[0], val_x[:, :5], val_y, weights[1], [slice(0, 5)])
    for mine, theirs in zip(one, alone, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    x_MW[:, 5:], val_x[:, 5:] = 1, 1
    _, _, weight_KW, bias_K, _ = fit_views(x_MW, y_MK, weights[0], val_x, val_y, weights[1], VIEWS)
    np.testing.assert_allclose(weight_KW[:, :5], alone[2], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(bias_K[:2], alone[3][:2], rtol=1e-8)


def test_one_validation_record_leaves_the_spread_to_training():
    (x_MW, y_MK), (val_x, val_y) = drawn(80, 0), drawn(1, 1)
    weights = [class_weights(y, y_MK, False) for y in (y_MK, val_y)]
    _, _, weight_KW, bias_K, _ = fit_views(x_MW, y_MK, weights[0], val_x, val_y, weights[1], VIEWS)
    assert np.abs(weight_KW[:2, :5]).max() > 0
    assert np.abs(weight_KW[:2, 5:]).max() > 0
    assert np.isfinite(bias_K).all()


@pytest.mark.parametrize("weight_F", [None, np.linspace(0.5, 2, 9)])
def test_a_probe_averages_its_views_in_the_same_way(weight_F):
    parts = [Part(x, y.astype(np.uint8), weight_F) for x, y in (drawn(80, 0), drawn(60, 1), drawn(40, 2))]
    train, val, test = parts
    fitted = choose_averaged(train, val, ((VIEWS[0], choose_logistic), (VIEWS[1], choose_ridge)))
    expected, strengths, scales = [], [], []
    for each, choose in zip(VIEWS, (choose_logistic, choose_ridge), strict=True):
        some = [Part(p.x_MF[:, each], p.y_MK, None if weight_F is None else weight_F[each]) for p in parts]
        alone = choose(some[0], some[1])
        on_val = alone.logits(some[1].x_MF)
        spread_K = np.where(on_val.std(0) > 0, on_val.std(0), 1)
        expected.append((alone.logits(some[2].x_MF) - on_val.mean(0)) / spread_K)
        strengths.append(alone.chosen)
        scales.append((on_val.mean(0), spread_K))
    usual_K, scale_K = scales[0]  # the logistic regression's: log odds, so one threshold serves all classes
    logits_MK = usual_K + scale_K * np.mean(expected, axis=0)
    np.testing.assert_allclose(fitted.logits(test.x_MF), logits_MK, atol=1e-9)
    assert fitted.chosen == strengths[0]
    assert fitted.untrained == (2,)
