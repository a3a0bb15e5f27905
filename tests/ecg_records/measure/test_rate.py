"""Every beat is counted once: rhythms in which T waves, P waves, spikes or artefacts could be counted too.

Shapes: K leads, L samples, n beats.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from ecg_records.measurements.intervals import measure
from ecg_records.measurements.rate import beats_per_minute, detect_again
from ecg_records.measurements.rpeaks import detect_best
from ecg_records.signal.leads import LEADS
from ecg_synth import r_samples, record

FS = 500
QRS = np.array([0.8, 1.0, 0.3, -0.9, 0.3, 0.6, -0.6, -0.9, 0.5, 1.0, 0.9, 0.7])
"""Heights over leads, mV; those of the T wave have another axis, as in a heart."""
T_WAVE = np.array([0.5, 0.9, 0.4, -0.7, 0.1, 0.6, 0.2, 0.8, 1.0, 0.9, 0.6, 0.4])
P_WAVE = np.array([0.6, 1.0, 0.5, -0.8, 0.1, 0.7, 0.3, 0.5, 0.5, 0.6, 0.5, 0.4])
ONE_LEAD = 4 * np.eye(12)[7]
ECTOPIC = np.array([-1.0, 1.2, 1.6, 0.1, -1.5, 1.5, -1.3, -1.2, -0.4, 0.6, 0.9, 0.8])


def every(rr: float, first: float = 0.5, last: float = 9.5) -> NDArray[np.float64]:
    return np.arange(first, last, rr)


def waves(at: NDArray[np.float64], begin: float, seconds: float, mv_K: NDArray[np.float64], power: int = 1):
    """A wave in twelve leads of ten seconds: a period of a cosine, squared for a complex, after each time."""
    t_L = np.arange(10 * FS) / FS
    x_KL = np.zeros((12, len(t_L)))
    for beat in at:
        phase_L = np.clip((t_L - beat - begin) / seconds, 0, 1)
        x_KL += mv_K[:, None] * ((1 - np.cos(2 * np.pi * phase_L)) / 2) ** power
    return x_KL


def beating(at: NDArray[np.float64], t: float = 0.3, *, qrs: float = 0.09, p: bool = True, qt: float = 0.38):
    """Complexes at the times given, with T waves and, before each of them, P waves."""
    x_KL = waves(at, -qrs / 2, qrs, QRS, 2) + waves(at, qt - 0.24, 0.24, t * T_WAVE, 2)
    if p:
        x_KL += waves(at, -0.2, 0.1, 0.15 * P_WAVE)
    return x_KL + np.random.default_rng(3).normal(0, 0.008, x_KL.shape)


def spikes(at: NDArray[np.float64]) -> NDArray[np.float64]:
    x_KL = np.zeros((12, 10 * FS))
    for place in np.rint(at * FS).astype(int):
        x_KL[:, place : place + 2] += 2.5 * np.where(QRS > 0, 1, -1)[:, None]
    return x_KL


SLOW, PACED = every(60 / 35), every(0.9)
RHYTHMS = {
    "complete AV block": (beating(SLOW, 0.5, p=False) + waves(every(0.75, 0.1), 0, 0.1, 0.25 * P_WAVE), SLOW),
    "2:1 block": (beating(every(1.5), 0.4) + waves(every(1.5, 1.05), 0, 0.1, 0.2 * P_WAVE), every(1.5)),
    "hyperkalaemia, T 1.5 times R": (beating(every(0.9), 1.5), every(0.9)),
    "hyperkalaemia, a wide complex": (beating(every(1.1), 1.5, qrs=0.16, p=False), every(1.1)),
    "paced, a spike before each complex": (beating(PACED, qrs=0.16) + spikes(PACED - 0.11), PACED),
    "paced in both chambers": (beating(PACED) + spikes(PACED - 0.07) + spikes(PACED - 0.25), PACED),
    "25/min": (beating(every(2.4, 0.7), 0.5), every(2.4, 0.7)),
    "230/min": (beating(every(60 / 230), 0.1, p=False, qt=0.24, qrs=0.08), every(60 / 230)),
    "an artefact in one lead": (beating(PACED) + waves(every(0.7, 0.3), 0, 0.06, ONE_LEAD, 2), PACED),
}


@pytest.mark.parametrize("name", RHYTHMS)
def test_every_beat_is_counted_once_and_nothing_else_is_by_two_detectors(name):
    x_KL, truth_n = RHYTHMS[name]
    for detect in (detect_best, detect_again):
        peaks_n = detect(x_KL, FS) / FS
        assert len(peaks_n) == len(truth_n), detect.__name__
        assert np.abs(peaks_n - truth_n).max() < 0.05
    told = measure(x_KL, FS, LEADS).rate
    assert told == pytest.approx(60 / np.diff(truth_n).mean(), rel=0.03)


def test_a_bigeminy_has_the_rate_at_which_the_heart_beats():
    sinus, early = every(1.6, 0.5), every(1.6, 1.0)
    x_KL = beating(sinus) + waves(early, -0.08, 0.16, ECTOPIC, 2) + waves(early, 0.2, 0.2, -0.4 * ECTOPIC)
    np.testing.assert_allclose(detect_best(x_KL, FS) / FS, np.sort([*sinus, *early]), atol=0.05)
    assert measure(x_KL, FS, LEADS).rate == pytest.approx(75, rel=0.03)


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_p_waves_of_a_complete_block_with_wide_complexes_are_beats_for_no_detector(seed):
    block = record("3AVB", rng=np.random.default_rng(seed))
    for detect in (detect_best, detect_again):
        assert len(detect(block.leads_mv, FS)) == len(r_samples(block)), detect.__name__
    assert measure(block.leads_mv, FS, LEADS).rate < 45


@pytest.mark.parametrize("seed", [3, 8, 12])
def test_a_bigeminy_whose_ectopic_beats_neither_detector_finds_has_a_dash(seed):
    bigeminy = record("Bigeminy", rng=np.random.default_rng(seed))
    assert len(detect_best(bigeminy.leads_mv, FS)) < 0.6 * len(r_samples(bigeminy))
    assert measure(bigeminy.leads_mv, FS, LEADS).reasons["rate"] == "between"


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_a_bigeminy_with_slow_ectopic_beats_is_not_told_at_half_its_rate(seed):
    bigeminy = record("Bigeminy", rng=np.random.default_rng(seed))
    x_KL, beats = bigeminy.leads_mv, r_samples(bigeminy)
    assert len(detect_again(x_KL, FS)) == len(beats)
    assert measure(x_KL, FS, LEADS).rate in (None, pytest.approx(beats_per_minute(beats, FS), rel=0.1))


def changed(seed: int, at: NDArray[np.float64], **shape) -> NDArray[np.float64]:
    """A heart whose complexes and T waves have other heights and signs in every lead."""
    rng = np.random.default_rng((7, seed))
    x_KL = waves(at, -shape["qrs"] / 2, shape["qrs"], QRS * rng.uniform(0.4, 1.6, 12), 2)
    t_K = shape["t"] * T_WAVE * rng.uniform(0.5, 1.5, 12) * rng.choice([-1, 1], 12, p=[0.2, 0.8])
    return x_KL + waves(at, shape["qt"] - 0.24, 0.24, t_K, 2) + rng.normal(0, 0.01, x_KL.shape)


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(4, 10))]
)
@pytest.mark.parametrize("qrs", [0.12, 0.16, 0.2])
def test_t_waves_twice_as_tall_as_wide_complexes_double_no_rate(seed, qrs):
    """Where T is as steep as R, two detectors count it alike: every other beat is then another wave."""
    at = every(0.95)
    measured = measure(changed(seed, at, t=2, qrs=qrs, qt=0.4), FS, LEADS)
    assert measured.rate in (None, pytest.approx(60 / 0.95, rel=0.05))


def test_where_every_other_beat_may_be_a_t_wave_there_are_dashes():
    measured = measure(changed(0, every(0.95), t=2, qrs=0.2, qt=0.4), FS, LEADS)
    assert set(measured.reasons.values()) == {"alternate"}


@pytest.mark.parametrize("seed", range(5))
def test_the_late_t_waves_of_a_slow_heart_are_no_beats_that_were_not_found(seed):
    at = every(2.4, 0.7)
    assert measure(changed(seed, at, t=0.7, qrs=0.16, qt=0.5), FS, LEADS).rate == pytest.approx(25, rel=0.03)


def test_a_stretch_without_beats_changes_the_rate_of_nothing():
    peaks_n = np.delete(np.arange(0, 5000, 400), [4, 5, 6])
    assert beats_per_minute(peaks_n, FS) == 75


def test_the_rate_is_the_mean_which_a_pause_and_a_run_change():
    pause = np.array([0.6, 1.4, 2.2, 3.0, 7.0, 7.8, 8.6, 9.4])
    run = np.array([0.5, 1.3, 2.1, 2.9, *np.arange(3.3, 8.4, 0.4), 9.1])
    for at in (pause, run):
        measured = measure(beating(at, t=0.1, qt=0.3, p=False), FS, LEADS)
        assert measured.rate == pytest.approx(60 * (len(at) - 1) / (at[-1] - at[0]), rel=0.06)
        assert measured.usual_rate == pytest.approx(60 / np.median(np.diff(at)), rel=0.03)
        assert measured.longest_cycle == pytest.approx(1000 * np.diff(at).max(), abs=20)


def test_where_the_detectors_disagree_there_are_dashes_with_the_reason(monkeypatch):
    """The second one sees every other beat."""
    monkeypatch.setattr(
        "ecg_records.measurements.rate.detect_again", lambda x_KL, fs: detect_best(x_KL, fs)[::2]
    )
    measured = measure(beating(every(0.8)), FS, LEADS)
    assert (measured.rate, measured.qrs, measured.qt, measured.qtc()) == (None,) * 4
    assert set(measured.reasons.values()) == {"detectors"}


def test_where_t_waves_were_taken_for_beats_there_are_dashes(monkeypatch):
    """Both detectors err alike, on the peaks of T; the complexes are steeper."""
    t_n = np.rint((every(0.8) + 0.26) * FS).astype(np.int64)
    for name in ("rpeaks.detect_best", "rate.detect_again"):
        monkeypatch.setattr(f"ecg_records.measurements.{name}", lambda x_KL, fs: t_n)
    assert measure(beating(every(0.8)), FS, LEADS).reasons["rate"] == "steeper"


def test_beats_of_which_most_are_unlike_each_other_have_no_rate():
    rng = np.random.default_rng(5)
    at = np.cumsum(rng.uniform(0.3, 0.5, 24)) + 0.3
    x_KL = np.sum(
        [waves(at[n : n + 1], 0, rng.uniform(0.15, 0.3), rng.normal(0, 1, 12)) for n in range(24)], 0
    )
    assert measure(x_KL, FS, LEADS).rate is None


def test_one_lead_that_is_not_a_number_and_one_that_is_flat_leave_the_others_beats():
    x_KL = beating(every(0.8))
    x_KL[3, 100] = np.nan
    x_KL[7] = 0.4
    assert len(detect_best(x_KL, FS)) == len(every(0.8))
