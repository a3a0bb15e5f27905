"""Calibration and thresholds: what they give where the truth is known, and what they leave alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from marecg.classify.calibration import Calibration, calibrate, log_loss, threshold
from marecg.errors import UsageError

RNG = np.random.default_rng(0)
TRUE = RNG.normal(0, 2, 4000)
Y = (RNG.random(4000) < expit(TRUE)).astype(float)


def test_a_temperature_undoes_a_slope_and_a_shift():
    curve = calibrate(3 * TRUE + 2, Y, "temperature")
    assert curve.slope == pytest.approx(1 / 3, rel=0.1)
    assert curve.shift == pytest.approx(-2 / 3, abs=0.1)
    np.testing.assert_allclose(curve(3 * TRUE + 2), expit(TRUE), atol=0.03)


def test_best_takes_the_curve_that_the_log_loss_of_other_records_is_least_with():
    """A sigmoid is told by a temperature; a staircase is not, and needs knots."""
    assert calibrate(2 * TRUE, Y).kind == "temperature"
    staircase = np.where(TRUE < -1, 0.05, np.where(TRUE < 1, 0.9, 0.95))
    y_M = (RNG.random(4000) < staircase).astype(float)
    curve = calibrate(TRUE, y_M)
    assert curve.kind == "isotonic"
    assert curve.log_loss["isotonic"] < curve.log_loss["temperature"]
    np.testing.assert_allclose(curve(np.array([-3.0, 0.0, 3.0])), [0.05, 0.9, 0.95], atol=0.04)


def test_logits_that_are_right_already_are_left_as_they_are():
    """Of a hundred small samples from true probabilities few get a curve, and none by few positives."""
    rng = np.random.default_rng(1)
    kinds = []
    for _ in range(100):
        logit_M = rng.normal(-3, 1.5, 300)
        kinds.append(calibrate(logit_M, (rng.random(300) < expit(logit_M)).astype(float)).kind)
    assert kinds.count("none") >= 80
    few = np.array([0.0] * 10 + [1.0] * 3)
    assert calibrate(few, few) == Calibration()


def test_a_temperature_stays_near_what_is_expected_the_more_the_fewer_records_there_are():
    logit_M, y_M = np.array([-2.0, 2.0]), np.array([0.0, 1.0])
    slopes = [calibrate(np.tile(logit_M, n), np.tile(y_M, n), "temperature").slope for n in (1, 10, 1000)]
    assert 1 < slopes[0] < 1.2 < slopes[1] < 2 < slopes[2]
    assert calibrate(logit_M, y_M, "temperature", expected=-3).shift == pytest.approx(-3, abs=0.2)
    assert calibrate(logit_M, y_M, expected=-3).kind == "temperature"


def test_records_of_one_kind_get_no_calibration():
    assert calibrate(TRUE, np.zeros(4000)) == Calibration()
    assert calibrate(TRUE, Y, "none") == Calibration()


@given(st.lists(st.tuples(st.floats(-20, 20), st.booleans()), min_size=2, max_size=40))
def test_calibration_never_turns_an_order_round(pairs):
    logit_M, y_M = np.array(pairs, float).T
    for method in ("temperature", "isotonic"):
        p_M = calibrate(logit_M, y_M, method)(np.sort(logit_M))
        assert (np.diff(p_M) >= -1e-12).all()
        assert ((p_M >= 0) & (p_M <= 1)).all()


def test_it_comes_back_from_json_and_a_falling_curve_does_not():
    curve = calibrate(TRUE, Y, "isotonic")
    assert Calibration.model_validate_json(curve.model_dump_json()) == curve
    both = {"knots": [0, 1]}
    for broken in (both | {"values": [0.9, 0.1]}, both | {"values": [0.1, 2]}, {"knots": [0]}):
        with pytest.raises(ValueError, match=r"a rising curve|less than or equal to 1"):
            Calibration.model_validate({"kind": "isotonic", **broken})


def test_the_log_loss_of_a_coin_is_ln_2():
    assert log_loss(np.array([0.0, 1.0]), np.array([0.5, 0.5])) == pytest.approx(np.log(2))


P = np.tile([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 3)
SICK = np.tile([0.0, 0, 1, 0, 0, 1, 1, 1], 3)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("youden", 0.6),  # 3/4 + 4/4 against 4/4 + 2/4 at 0.3
        ("f1", 0.6),  # 2 · 3 / (3 + 4)
        ("sensitivity=.75", 0.6),
        ("sensitivity=.9", 0.3),
        ("specificity=1", 0.6),
        ("specificity=.5", 0.3),
    ],
)
def test_a_threshold_is_what_its_rule_says(rule, expected):
    assert threshold(rule, SICK, P) == expected


@pytest.mark.parametrize("rule", ["youden", "f1"])
def test_a_threshold_by_two_positives_does_not_call_half_of_the_records(rule):
    """One of two positives has the median probability. Ten such pairs keep the rule's threshold."""
    p_M = np.linspace(0.001, 0.2, 1000)
    y_M = np.zeros(1000)
    y_M[[500, 999]] = 1
    cut = threshold("youden", y_M, p_M)
    assert p_M[500] < cut < p_M[998]
    assert (p_M >= cut).mean() < 0.2
    many = threshold("youden", np.tile(y_M, 10), np.tile(p_M, 10))
    assert many == p_M[500]
    assert threshold("sensitivity=1", y_M, p_M) == p_M[500]
    sure = np.where(np.arange(1000) >= 998, 1.0, 0.0)
    assert threshold(rule, sure, p_M) == p_M[998]


def test_a_class_of_one_kind_is_called_from_a_half_on_and_an_unknown_rule_is_refused():
    assert threshold("youden", np.zeros(24), P) == 0.5
    for rule in ("sens=.9", "sensitivity=2", "sensitivity"):
        with pytest.raises(UsageError, match="unknown threshold rule"):
            threshold(rule, SICK, P)


@given(st.integers(0, 1000), st.sampled_from([0.5, 0.9, 1]))
def test_a_sensitivity_is_reached_with_the_highest_threshold_that_can(seed, share):
    rng = np.random.default_rng(seed)
    p_M, y_M = rng.choice(20, 30, replace=True) / 20, (rng.random(30) < 0.4).astype(float)
    if y_M.any() and not y_M.all():
        highest = max(cut for cut in p_M if (p_M[y_M == 1] >= cut).sum() >= share * y_M.sum())
        assert threshold(f"sensitivity={share}", y_M, p_M) == highest
