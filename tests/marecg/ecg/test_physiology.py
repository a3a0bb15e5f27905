"""MSPS targets, on beat trains whose answer is known."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from marecg.config import ModelConfig
from marecg.ecg.physiology import Phase, Physiology, Rate, physiology
from marecg.ecg.rpeaks import detect
from marecg.ecg.signal import resample
from marecg.objectives.msps import MspsConfig
from marecg.read.wfdb import read_record

FS = 500


def train_of(*intervals_s: float, start: int = 60) -> NDArray[np.int64]:
    """R-peaks that follow each other at these intervals, again and again up to 9.4 s."""
    peaks, turn = [start], 0
    while peaks[-1] < 4700:
        peaks.append(peaks[-1] + round(intervals_s[turn % len(intervals_s)] * FS))
        turn += 1
    return np.array(peaks[:-1], np.int64)


def read(peaks: NDArray[np.int64]) -> Physiology:
    return physiology([peaks], ModelConfig(), MspsConfig())


@pytest.mark.parametrize(
    ("interval", "rate"),
    [(1.25, Rate.BRADY), (1.0, Rate.NORMAL), (0.8, Rate.NORMAL), (0.6, Rate.NORMAL), (0.5, Rate.TACHY)],
)
def test_a_regular_train_has_its_rate_no_variability_and_no_alternation(interval: float, rate: Rate) -> None:
    found = read(train_of(interval))
    assert found.mean_rr_M[0] == pytest.approx(interval)
    assert found.rr_cv_M[0] == 0
    assert found.rate_M[0] == rate
    assert found.alternates_M[0] == 0


def test_bigeminy_alternates() -> None:
    assert read(train_of(0.5, 1.1)).alternates_M[0] == 1


def test_trigeminy_alternates() -> None:
    assert read(train_of(0.8, 0.5, 1.1)).alternates_M[0] == 1


def test_a_single_early_beat_with_its_pause_does_not_alternate() -> None:
    assert read(train_of(0.8, 0.8, 0.5, 1.1, 0.8, 0.8, 0.8, 0.8, 0.8)).alternates_M[0] == 0


def test_a_swing_within_theta_does_not_alternate() -> None:
    assert read(train_of(0.75, 0.85)).alternates_M[0] == 0


def test_atrial_fibrillation_is_variable_and_rarely_taken_for_alternation() -> None:
    rng = np.random.default_rng(0)
    found = physiology(
        [train_of(*rng.uniform(0.4, 1.1, 30)) for _ in range(200)], ModelConfig(), MspsConfig()
    )
    assert np.median(found.rr_cv_M) > 0.2
    assert found.alternates_M.mean() < 0.15


@pytest.mark.parametrize("peaks", [[], [700], [3600, 4000, 4400]])
def test_fewer_than_two_peaks_in_the_context_mean_none(peaks: list[int]) -> None:
    found = read(np.array(peaks, np.int64))
    assert found.rate_M[0] == Rate.NONE
    assert (found.phase_MT == Phase.MASKED).all()
    assert found.mean_rr_M[0] == found.rr_cv_M[0] == found.alternates_M[0] == 0


def test_phases_follow_each_other_through_the_beat_by_hand() -> None:
    phase_T = read(train_of(0.8, start=1025)).phase_MT[0]
    # RR 400 samples: R within 50, ST to 133, T-wave to 200, then PRE-R of the next beat
    centre = (np.arange(139) * 25 + 25).tolist()
    by_distance = {distance: phase_T[centre.index(1025 + distance)] for distance in range(-225, 400, 25)}
    assert by_distance[-225] == Phase.MASKED
    for distance, phase in by_distance.items():
        if -200 <= distance < -50 or 200 < distance < 350:
            assert phase == Phase.PRE_R, distance
        elif -50 <= distance <= 50 or distance >= 350:
            assert phase == Phase.R, distance
        elif 50 < distance <= 125:
            assert phase == Phase.ST, distance
        elif 125 < distance <= 200:
            assert phase == Phase.T_WAVE, distance


@pytest.mark.realdata
def test_the_rate_bucket_of_real_records_is_that_of_their_codes(realdata: Path) -> None:
    named = {"426177001": Rate.BRADY, "427084000": Rate.TACHY}
    wanted, peaks = [], []
    for header in sorted((realdata / "cinc2021" / "georgia").glob("*.hea")):
        record = read_record(header, header.parent)
        rates = {named[code] for code in record.codes if code in named}
        if len(rates) == 1:
            wanted.append(rates.pop())
            peaks.append(detect(resample(record.x_CL, record.fs)[0], FS))
    found = physiology(peaks, ModelConfig(), MspsConfig())
    assert len(wanted) > 10
    assert np.mean(found.rate_M == np.array(wanted)) > 0.85
