"""A lead that is off, a noisy one and swapped arms are told apart from a good recording."""

import numpy as np
import pytest
from tests.ecg_records.measure.test_intervals import FS, drawn

from ecg_records.measurements.electrodes import Doubts, doubts
from ecg_records.measurements.intervals import measure
from ecg_records.signal.leads import LEADS


def test_a_good_recording_raises_no_doubt():
    assert doubts(drawn(), FS, LEADS) == Doubts()


def test_a_lead_without_signal_and_one_with_mains_hum_are_named():
    x_KL = drawn()
    x_KL[7] = 0
    x_KL[9] += 0.2 * np.sin(2 * np.pi * 50 * np.arange(5000) / FS).astype(np.float32)
    assert doubts(x_KL, FS, LEADS) == Doubts(("V2",), ("V4",))


@pytest.mark.parametrize(("tall", "spike_mv"), [(3, 0.0), (1, 3.0)], ids=["a child", "a pacemaker"])
def test_steep_complexes_and_spikes_are_not_noise_and_muscle_between_them_is(tall, spike_mv):
    """Complexes of 50 ms and 3.6 mV, 120 a minute, as a healthy child has; spikes before each beat."""
    x_KL = drawn(0.12, 0.05, 0.26, rr=0.5) * np.float32(tall)
    for place in np.arange(0.6, 9.6, 0.5) * FS:
        x_KL[:, round(place) - 5 : round(place) - 3] += spike_mv
    assert doubts(x_KL, FS, LEADS).noisy == ()
    x_KL[6] += np.random.default_rng(3).normal(0, 0.05, 5000).astype(np.float32)
    assert doubts(x_KL, FS, LEADS).noisy == ("V1",)


def test_a_lead_whose_baseline_swings_is_called_loose():
    x_KL = drawn()
    x_KL[8] += np.where(np.arange(5000) % 2500 < 1200, -3.5, 0).astype(np.float32)
    assert doubts(x_KL, FS, LEADS).loose == ("V3",)


def test_a_lead_that_jumps_where_most_do_not_is_called_loose_and_tall_complexes_are_not():
    """Each three seconds, by less than a loose one swings; and a last value that a file holds for 0.15 s."""
    x_KL, after = drawn(), (np.arange(5000) - 150) / FS
    x_KL[9] -= (2.7 * np.exp(-(after % 3) / 0.8)).astype(np.float32)
    assert doubts(x_KL, FS, LEADS).loose == ("V4",)
    wave_L = 3 * np.exp(-((((after % 1) - 0.4) / 0.08) ** 2))
    wide_KL = drawn() + np.linspace(0.5, 1, 12, dtype=np.float32)[:, None] * wave_L.astype(np.float32)
    wide_KL[:, 4925:] = wide_KL[:, 4925:4926]
    assert doubts(wide_KL, FS, LEADS).loose == ()


@pytest.mark.parametrize("lead", range(12))
def test_swapped_arms_turn_lead_i_and_nothing_else_does(lead):
    x_KL = drawn()
    x_KL[lead] *= -1
    assert doubts(x_KL, FS, LEADS).swapped_arms == (LEADS[lead] in {"I", "V6"})


def test_swapped_arms_take_the_axis_away_and_change_no_interval():
    """I turns, II and III change places, and so do aVR and aVL."""
    x_KL = drawn()
    x_KL[3], x_KL[4] = -(x_KL[0] + x_KL[1]) / 2, x_KL[0] - x_KL[1] / 2
    x_KL[2], x_KL[5] = x_KL[1] - x_KL[0], x_KL[1] - x_KL[0] / 2
    swapped_KL = x_KL[[0, 2, 1, 4, 3, 5, 6, 7, 8, 9, 10, 11]]
    swapped_KL[0] *= -1
    found, right = measure(swapped_KL, FS, LEADS), measure(x_KL, FS, LEADS)
    assert (found.axis, found.reasons) == (None, {"axis": "swapped_arms"})
    assert right.axis
    for name in ("qrs", "pr", "qt"):
        assert getattr(found, name) == pytest.approx(getattr(right, name), abs=4), name


@pytest.mark.parametrize(("p", "spike_mv"), [(0.0, 0.0), (0.12, 2.0)], ids=["no P wave", "a pacemaker"])
def test_without_a_p_wave_or_with_a_pacemaker_arms_are_not_called_swapped(p, spike_mv):
    """In fibrillation and behind a spike there is no P wave that could stand on its head."""
    x_KL = drawn(p=p)
    x_KL[0] *= -1
    for place in np.arange(0.6, 9.6, 0.8) * FS:
        x_KL[:, round(place) - 5 : round(place) - 3] += spike_mv
    assert not doubts(x_KL, FS, LEADS).swapped_arms


def test_swapped_arms_are_looked_for_only_with_lead_i_and_v6():
    assert not doubts(-drawn()[:2], FS, ("I", "II")).swapped_arms


@pytest.mark.parametrize("fs", [FS, 100])
def test_infinite_samples_make_no_doubt_and_no_warning(fs):
    x_KL = drawn()[:, :: FS // fs].copy()
    x_KL[8, 50:52] = np.inf, -np.inf
    assert doubts(x_KL, fs, LEADS) == Doubts()
    assert measure(x_KL, fs, LEADS).rate == pytest.approx(measure(drawn(), FS, LEADS).rate, abs=1)
