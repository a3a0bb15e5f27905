"""A head of several views: classifiers of some columns each, whose logits are averaged."""

import numpy as np
import pytest

from marecg.classify.logistic import class_weights, fit_logistic, fit_views
from marecg.evaluate.probe.linear import Part, choose_averaged, choose_logistic

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


def test_a_column_of_two_views_has_the_sum_of_their_weights():
    (x_MW, y_MK), (val_x, val_y) = drawn(80, 0), drawn(60, 1)
    weights = [class_weights(y, y_MK, False) for y in (y_MK, val_y)]
    part_W = np.linspace(0.5, 2, 9)
    both = (slice(0, 9), slice(0, 5))
    mean_W, scale_W, weight_KW, bias_K, _ = fit_views(
        x_MW, y_MK, weights[0], val_x, val_y, weights[1], both, part_W
    )
    logits_MK = ((val_x - mean_W) / scale_W) @ weight_KW.T + bias_K
    apart = []
    for each in both:
        mean, scale, weight, bias, _ = fit_logistic(
            x_MW[:, each], y_MK, weights[0], val_x[:, each], val_y, weights[1], part_W[each]
        )
        apart.append(((val_x[:, each] - mean) / scale) @ weight.T + bias)
    spread_VK, middle_VK = np.std(apart, axis=1), np.mean(apart, axis=1)
    for k in (0, 1):
        standard = np.mean([(v[:, k] - v[:, k].mean()) / v[:, k].std() for v in apart], axis=0)
        expected_M = standard * spread_VK[:, k].mean() + middle_VK[:, k].mean()
        np.testing.assert_allclose(logits_MK[:, k], expected_M, rtol=1e-8)


@pytest.mark.parametrize("class_wise", [False, True])
@pytest.mark.parametrize("weight_F", [None, np.linspace(0.5, 2, 12)])
def test_a_probe_averages_its_views_of_which_some_start_from_what_is_known_of_the_classes(
    weight_F, class_wise
):
    """The last three columns are the classes' own; of the third, which training doesn't show, they tell."""
    known = [
        np.random.default_rng(9 + part).normal(size=(records, 3)) for part, records in enumerate((80, 60, 40))
    ]
    train, val, test = (
        Part(np.c_[x, own], y.astype(np.uint8), weight_F, class_wise)
        for (x, y), own in zip((drawn(80, 0), drawn(60, 1), drawn(40, 2)), known, strict=True)
    )
    fitted = choose_averaged(train, val, ((slice(0, 5), True), (slice(5, 9), False)))
    logits, on_val, strengths = [], [], []
    for columns in ([*range(5), *([9, 10, 11] if class_wise else [])], [5, 6, 7, 8]):
        starts = class_wise and 9 in columns
        some = [
            Part(p.x_MF[:, columns], p.y_MK, None if weight_F is None else weight_F[columns], starts)
            for p in (train, val)
        ]
        alone = choose_logistic(*some)
        on_val.append(alone.logits(some[1].x_MF))
        logits.append(alone.logits(test.x_MF[:, columns]))
        strengths.append(alone.chosen)
    answers = fitted.logits(test.x_MF)
    for k in (0, 1):
        standard = [(z[:, k] - v[:, k].mean()) / v[:, k].std() for z, v in zip(logits, on_val, strict=True)]
        spread, middle = (np.mean([of(v[:, k]) for v in on_val]) for of in (np.std, np.mean))
        np.testing.assert_allclose(answers[:, k], middle + spread * np.mean(standard, axis=0), atol=1e-9)
    assert fitted.chosen == strengths[0]
    assert fitted.untrained == (() if class_wise else (2,))
    if class_wise:
        np.testing.assert_allclose(answers[:, 2], logits[0][:, 2], atol=1e-9)
    else:
        assert set(answers[:, 2]) == {-1e3}
