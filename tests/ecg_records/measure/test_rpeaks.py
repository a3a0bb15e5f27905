"""R-peaks on raw lead I, and on all leads together."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d
from scipy.signal import sosfiltfilt
from tests.made_records import make_bigeminy, make_ecg

from benchmarks.rpeaks import annotated, find_raw
from ecg_records.measurements import coincidence
from ecg_records.measurements.rpeaks import detect, detect_best, detect_best_each, detect_each
from ecg_records.signal.filters import band, in_band, pan_tompkins
from marecg.model.physiology import alternates


def truth(seconds: float = 9.6, fs: float = 500) -> np.ndarray:
    return np.round(np.arange(0.4, seconds, 0.8) * fs).astype(int)


@pytest.mark.parametrize("fs", [250, 500, 1000])
def test_every_beat_is_found_where_it_is(fs):
    found = detect(make_ecg(9.6, fs)[0], fs)
    assert found.dtype == np.int64
    np.testing.assert_allclose(found, truth(fs=fs), atol=0.004 * fs)


LEAD = make_ecg(9.6)[0]
SINCE = np.arange(4800) / 500 % 0.8 - 0.4
"""Seconds since the nearest beat."""


@pytest.mark.parametrize(
    ("lead", "method"),
    [
        # 0.3 s behind its beat a wave is past the refractory period; only its slope tells it from a beat
        pytest.param(LEAD + 1.2 * np.exp(-(((SINCE - 0.3) / 0.06) ** 2)), (), id="T waves as high as beats"),
        pytest.param(-LEAD, (), id="pointing downwards"),
        pytest.param(LEAD + 1.5 * np.sin(2 * np.pi * 0.3 * np.arange(4800) / 500), (), id="wandering"),
        pytest.param(LEAD, ("neurokit",), id="the other detector"),
    ],
)
def test_beats_are_told_from_what_is_none(lead, method):
    np.testing.assert_allclose(detect(lead, 500, *method), truth(), atol=3)


def test_the_first_beats_are_found_although_the_detector_itself_misses_them():
    lead = make_ecg(9.6)[0][110:]
    assert find_raw(lead, 500)[0] > 400
    assert detect(lead, 500)[0] == pytest.approx(90, abs=3)


NO_BEATS = {
    "asystole": np.zeros(5000),
    "nan": np.full(5000, np.nan),
    "huge": np.full(5000, 1e300),
    "empty": np.zeros(0),
    "one sample": np.zeros(1),
    "one step": np.r_[np.zeros(4999), 1.0],
    "flat": np.full(5000, 3.3, np.float32),
    "infinite": np.where(np.arange(5000) == 5, np.inf, 0.0),
    "drift": np.linspace(-1, 1, 5000),
}


@pytest.mark.parametrize("name", NO_BEATS)
def test_a_lead_without_beats_gives_an_empty_array_and_no_error(name):
    found = detect(NO_BEATS[name], 500)
    assert found.dtype == np.int64
    assert len(found) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_survived_and_answers_stay_in_order_and_in_range(seed):
    found = detect(np.random.default_rng(seed).normal(0, 0.1, 4700), 500)
    assert (np.diff(found) > 0).all()
    assert ((found >= 0) & (found < 4700)).all()


@pytest.mark.parametrize("of_lead_i", [0.0, 0.02, 0.5], ids=["flat", "tiny", "without the early beats"])
def test_all_leads_together_show_the_bigeminy_that_lead_i_does_not(of_lead_i):
    x_CL, beats = make_bigeminy(of_lead_i)
    found = detect_best(x_CL, 500)
    np.testing.assert_allclose(found, beats, atol=4)
    assert alternates(np.diff(found)[None], 0.15, 2).all()
    in_lead_i = detect(x_CL[0], 500)
    assert len(in_lead_i) != len(beats) or np.abs(in_lead_i - beats).max() > 4


def test_beats_that_only_the_chest_leads_have_are_found_on_all_leads_together():
    x_CL = make_ecg(9.6)
    x_CL[:6] = np.random.default_rng(0).normal(0, 0.01, (6, x_CL.shape[1]))
    np.testing.assert_allclose(detect_best(x_CL, 500), truth(), atol=3)


@pytest.mark.parametrize("value", [0.0, np.nan, 3.3])
def test_leads_without_beats_have_none_on_the_best_of_them(value):
    for length in (0, 1, 5000):
        assert len(detect_best(np.full((12, length), value), 500)) == 0


def test_leads_looked_at_together_have_the_beats_that_each_has_alone():
    leads = [lead for lead, _ in annotated(24)]
    leads[3:3] = [np.zeros(4700), np.full(4700, np.nan)]
    together = detect_each(np.stack(leads), 500)
    assert [len(found) for found in together[3:5]] == [0, 0]
    assert sum(map(len, together)) > 200
    for lead, found in zip(leads, together, strict=True):
        np.testing.assert_array_equal(found, detect(lead, 500))
    assert detect_each(np.zeros((0, 4700)), 500) == []


def test_records_looked_at_together_have_the_beats_that_each_has_alone():
    unread, only_chest = make_ecg(9.6), make_ecg(9.6)
    unread[7, 30] = np.nan
    only_chest[:6] = 3.3
    records = np.stack([make_ecg(9.6, seed=1), unread, only_chest, make_bigeminy(0.0)[0][:, :4800]])
    together = detect_best_each(records, 500)
    assert [len(found) for found in together[:3]] == [12, 12, 12]
    for x_CL, found in zip(records, together, strict=True):
        np.testing.assert_array_equal(found, detect_best(x_CL, 500))


@pytest.mark.parametrize("samples", [125, 1175, 1250])
def test_the_band_of_all_leads_is_that_of_its_filter_run_forwards_and_backwards(samples):
    slow_CM = np.random.default_rng(samples).normal(0, 1, (3, samples)).cumsum(1).astype(np.float32)
    expected_CM = sosfiltfilt(band(2, 125, coincidence.BAND_HZ), slow_CM, padlen=31)
    np.testing.assert_allclose(coincidence._in_band(slow_CM, 125), expected_CM, atol=0.02)


def test_beats_are_those_of_the_plain_loop_over_answers_also_at_the_ends():
    for lead, beats in annotated(24):
        for first in (0, max(beats[0] - 15, 0)):
            for last in (4700, beats[-1] + 15):
                np.testing.assert_array_equal(detect(lead[first:last], 500), plainly(lead[first:last]))


def plainly(lead: np.ndarray) -> np.ndarray:
    """What `detect` is to find at 500 Hz, answer by answer and beat by beat."""
    clean, last = in_band(lead[None], 500), len(lead) - 1
    slope = np.gradient(sosfiltfilt(band(2, 500), lead))
    energy = uniform_filter1d(slope**2, 50)
    tops = set()
    backwards = [last - each for each in pan_tompkins(clean[:, ::-1], 500)[0]]
    for answer in (*pan_tompkins(clean, 500)[0], *backwards):
        here, there = -1, answer
        while here != there:
            here, first = there, max(there - 60, 0)
            there = first + int(energy[first : here + 61].argmax())
        tops.add(here)
    ranked = sorted(tops, key=lambda top: -energy[top])
    weakest = 0.04 * np.median(energy[ranked[: round(0.5 * len(lead) / 500)]]) if ranked else 0
    kept: list[int] = []
    for top in ranked:
        weak = [other for other in kept if abs(top - other) < 180 and energy[top] < energy[other] / 4]
        if energy[top] >= weakest and not weak and all(abs(top - other) >= 100 for other in kept):
            kept.append(top)
    peaks = set()
    for top in kept:
        level, first = np.median(lead[max(top - 100, 0) : top + 100]), max(top - 25, 0)
        peaks.add(first + int(np.abs(lead[first : top + 26] - level).argmax()))
    return np.array(sorted(peaks))
