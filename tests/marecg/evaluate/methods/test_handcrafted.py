import neurokit2 as nk
import numpy as np
import pytest

from marecg.evaluate.methods.handcrafted import (
    WAVES,
    _intervals,
    _levels,
    _rhythm,
    delineate,
    handcrafted,
    measure,
)


def ecg(rate: int, seed: int = 0) -> np.ndarray:
    """Ten seconds of twelve equal leads in mV."""
    lead_L = nk.ecg_simulate(duration=10, sampling_rate=500, heart_rate=rate, random_state=seed)[:5000]
    return np.tile(lead_L, (12, 1)).astype(np.float32)


@pytest.mark.parametrize("rate", [50, 75, 110])
def test_the_heart_rate_is_measured(rate):
    beats = delineate(ecg(rate)[1].astype(float))
    assert 60 * 500 / np.median(np.diff(beats["R_Peaks"])) == pytest.approx(rate, rel=0.03)


def test_the_waves_of_a_beat_come_in_their_order():
    beats = delineate(ecg(60)[1].astype(float))
    order = ["P_Onsets", "P_Peaks", "R_Onsets", "R_Peaks", "R_Offsets", "T_Peaks", "T_Offsets"]
    middle = np.array([beats[name][1:-1] for name in order])
    assert (np.diff(middle, axis=0) > 0).all()


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
    assert features.shape == measure(ecg(60)).shape
    assert np.isfinite(features).all()


def test_a_doubled_signal_keeps_its_intervals_and_doubles_its_percentiles():
    once, twice = measure(ecg(60)), measure(2 * ecg(60))
    np.testing.assert_allclose(twice[: 7 * 12], 2 * once[: 7 * 12], rtol=1e-5, atol=1e-5)
    rhythm = slice(14 * 12, 14 * 12 + 18)
    np.testing.assert_allclose(twice[rhythm], once[rhythm], rtol=1e-5)


def test_intervals_between_beats_are_in_seconds():
    """Peaks a second apart but for one early beat: 1, 0.8, 1.2, 1 s."""
    peaks = np.array([100.0, 600.0, 1000.0, 1600.0, 2100.0])
    beats, mean, sd, least, most, rmssd, unsteady = _rhythm(peaks)
    assert (beats, mean, least, most) == (5, 1.0, 0.8, 1.2)
    assert sd == pytest.approx(np.sqrt(0.02))
    assert rmssd == pytest.approx(np.sqrt((0.2**2 + 0.4**2 + 0.2**2) / 3))
    assert unsteady == 1.0


def test_heights_are_those_above_the_pr_baseline():
    """A beat every second: 1 mV at R, 0.3 mV at T, 0.2 mV 60 ms behind the QRS, on a baseline of 5 mV."""
    x_CL = np.full((12, 5000), 5.0)
    starts = np.arange(250.0, 4750, 500)
    beats = dict.fromkeys(("R_Peaks", *WAVES), np.full(len(starts), np.nan))
    beats |= {"R_Onsets": starts, "R_Peaks": starts + 20, "R_Offsets": starts + 45, "T_Peaks": starts + 150}
    for name, after, height in (("R_Peaks", 0, 1.0), ("T_Peaks", 0, 0.3), ("R_Offsets", 30, 0.2)):
        x_CL[:, beats[name].astype(int) + after] += height
    p, q, r, s, t, st = _levels(x_CL, beats).reshape(6, 12)
    np.testing.assert_allclose([r[0], t[5], st[11]], [1.0, 0.3, 0.2])
    assert not np.stack([p, q, s]).any()


def test_qtc_is_bazett_s():
    """A QT of 360 ms at an RR of 810 ms is 400 ms."""
    starts = np.arange(5) * 405.0
    beats = dict.fromkeys(("R_Peaks", *WAVES), np.full(5, np.nan))
    beats |= {"R_Onsets": starts, "R_Peaks": starts + 20, "T_Offsets": starts + 180}
    assert _intervals(beats)[-1] == pytest.approx(0.4)


def test_as_a_method_it_gives_one_row_per_recording():
    assert handcrafted().compute([ecg(60), ecg(90)]).shape == (2, len(measure(ecg(60))))
