"""The hand-crafted features are finite whatever a record is, and mean what they say."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.ecg_records.measure.test_intervals import drawn

from ecg_records.measurements.intervals import Measurements
from ecg_records.measurements.measured import (
    PERCENTILES,
    VERSION,
    _distribution,
    _intervals,
    _rhythm,
    measure,
)
from ecg_records.signal.leads import LEADS
from marecg.evaluate.methods.handcrafted import handcrafted

RHYTHM = slice(14 * 12, 14 * 12 + 7)
INTERVALS = slice(RHYTHM.stop, RHYTHM.stop + 11)
WEIGHTS = (0.8, 1.0, 0.3, -0.9, 0.3, 0.6, -0.6, -0.3, 0.5, 1.0, 0.9, 0.7)
"""How large `drawn` is in each lead."""
GOLDEN = Path(__file__).with_name("measured_values.json")
"""Version and values of two records, one of them with a lead that is absent."""


def values_now() -> list[list[float]]:
    quick_CL = drawn(rr=0.6)
    quick_CL[3] = 0
    return [measure(drawn()).tolist(), measure(quick_CL, np.arange(len(LEADS)) == 3).tolist()]


@pytest.mark.parametrize(
    "signal",
    [
        np.zeros((12, 5000)),
        np.random.default_rng(0).normal(size=(12, 5000)),
        np.tile(np.linspace(-3, 3, 5000), (12, 1)),
        np.ones((12, 40)),
        np.zeros((12, 1)),
    ],
    ids=["asystole", "noise", "drift", "80 ms", "one sample"],
)
def test_any_signal_has_the_same_number_of_finite_features(signal):
    features = measure(signal.astype(np.float32))
    assert features.shape == (258,)
    assert np.isfinite(features).all()


def test_a_doubled_signal_keeps_its_intervals_and_doubles_its_percentiles_and_heights():
    x_CL = drawn()
    once, twice = measure(x_CL), measure(2 * x_CL)
    for doubled in (slice(7 * 12), slice(INTERVALS.stop, None)):
        np.testing.assert_allclose(twice[doubled], 2 * once[doubled], rtol=1e-5, atol=1e-5)
    unchanged = slice(RHYTHM.start, INTERVALS.stop)
    np.testing.assert_allclose(twice[unchanged], once[unchanged], rtol=1e-5)


@pytest.mark.parametrize("samples", [1, 999, 1000])
def test_percentiles_are_numpys_around_the_median(samples):
    x_CL = np.random.default_rng(samples).normal(size=(12, samples)).cumsum(axis=1)
    around_CL = x_CL - np.median(x_CL, axis=1, keepdims=True)
    expected = [*np.percentile(around_CL, PERCENTILES, axis=1), x_CL.std(axis=1)]
    np.testing.assert_allclose(_distribution(x_CL), expected, rtol=1e-9, atol=1e-12)


def test_intervals_between_beats_are_in_seconds():
    """Peaks a second apart but for one early beat: 1, 0.8, 1.2, 1 s."""
    peaks = np.array([100.0, 600.0, 1000.0, 1600.0, 2100.0])
    beats, mean, sd, least, most, rmssd, unsteady = _rhythm(peaks)
    assert (beats, mean, least, most) == (5, 1.0, 0.8, 1.2)
    assert sd == pytest.approx(np.sqrt(0.02))
    assert rmssd == pytest.approx(np.sqrt((0.2**2 + 0.4**2 + 0.2**2) / 3))
    assert unsteady == 1.0


def test_intervals_are_in_seconds_with_what_is_told_and_the_axis_as_a_direction():
    """A QT of 360 ms at an RR of 810 ms is a QTc of 400 ms; no PR and no P."""
    features = _intervals(Measurements(rate=60 / 0.81, qrs=90, qt=360, axis=90))
    np.testing.assert_allclose(features, [0, 0, 0.09, 0.36, 0.4, 0, 0, 1, 1, 0, 1], atol=1e-12)


def test_heights_are_those_above_the_pr_baseline():
    """Each lead has 0.12 mV at P, 1.2 at R and 0.3 at T, times its weight, and nothing between QRS and T."""
    p, q, r, s, st, t = measure(drawn())[INTERVALS.stop :].reshape(6, len(LEADS))
    weights = np.array(WEIGHTS)
    for heights, height in ((p, 0.12), (t, 0.3)):
        np.testing.assert_allclose(heights, height * weights, atol=0.03)
    np.testing.assert_allclose(r, 1.2 * np.maximum(weights, 0), atol=0.05)
    np.testing.assert_allclose(np.minimum(q, s), 1.2 * np.minimum(weights, 0), atol=0.05)
    np.testing.assert_allclose(st, 0, atol=0.03)
    without_p = measure(drawn(p=0.0))[INTERVALS.stop :].reshape(6, len(LEADS))
    assert without_p.any(1).tolist() == [False, *[True] * 5], "a wave that isn't there has no height"
    assert handcrafted().compute([drawn(), drawn(rr=0.6)]).shape == (2, 258), "one row per recording"


def test_other_values_have_another_version():
    """Or features that runs have kept would pass for these. Raise `VERSION`, then run this module."""
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == VERSION
    np.testing.assert_allclose(values_now(), golden["values"], rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    rounded = [[float(f"{value:.6g}") for value in values] for values in values_now()]
    GOLDEN.write_text(json.dumps({"version": VERSION, "values": rounded}) + "\n")
