"""MSPS targets, on beat trains whose answer is known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ecg_records.measurements.rpeaks import detect
from ecg_records.readers.wfdb import read_record
from ecg_records.signal.samples import resample
from marecg.model.config import ModelConfig
from marecg.model.physiology import Phase, Physiology, Rate, physiology
from marecg.objectives.msps import MspsConfig

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
def test_a_regular_train_has_its_rate_no_variability_and_no_alternation(interval, rate):
    found = read(train_of(interval))
    assert found.mean_rr_M[0] == pytest.approx(interval)
    assert found.rr_cv_M[0] == 0
    assert found.rate_M[0] == rate
    assert found.alternates_M[0] == 0


@pytest.mark.parametrize(
    ("intervals", "alternates"),
    [
        pytest.param((0.5, 1.1), 1, id="bigeminy"),
        pytest.param((0.8, 0.5, 1.1), 1, id="trigeminy"),
        pytest.param((0.8, 0.8, 0.5, 1.1, *[0.8] * 5), 0, id="a single early beat with its pause"),
        pytest.param((0.75, 0.85), 0, id="a swing within theta"),
    ],
)
def test_what_alternates_and_what_does_not(intervals, alternates):
    assert read(train_of(*intervals)).alternates_M[0] == alternates


def test_atrial_fibrillation_is_variable_and_rarely_taken_for_alternation():
    rng = np.random.default_rng(0)
    trains = [train_of(*rng.uniform(0.4, 1.1, 30)) for _ in range(200)]
    found = physiology(trains, ModelConfig(), MspsConfig())
    assert np.median(found.rr_cv_M) > 0.2
    assert found.alternates_M.mean() < 0.15


@pytest.mark.parametrize("peaks", [[], [700], [3600, 4000, 4400]])
def test_fewer_than_two_peaks_in_the_context_mean_none(peaks):
    found = read(np.array(peaks, np.int64))
    assert found.rate_M[0] == Rate.NONE
    assert (found.phase_MT == Phase.MASKED).all()
    assert found.mean_rr_M[0] == found.rr_cv_M[0] == found.alternates_M[0] == 0


def test_phases_follow_each_other_through_the_beat_by_hand():
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
def test_the_rate_bucket_of_real_records_is_that_of_their_codes(realdata):
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


def one_by_one(rpeaks: list[NDArray[np.int64]], model: ModelConfig, limits: MspsConfig):
    """The definitions record by record, as they read."""
    centres = [patch * model.stride + model.patch // 2 for patch in range(model.context_patches)]
    for all_peaks in rpeaks:
        peaks = all_peaks[all_peaks < model.context]
        if len(peaks) < 2:
            yield 0, 0, Rate.NONE, False, [Phase.MASKED] * len(centres)
            continue
        rr = np.diff(peaks)
        bpm = 60 * model.fs / rr.mean()
        rate = Rate.BRADY if bpm < limits.brady_bpm else Rate.TACHY if bpm > limits.tachy_bpm else Rate.NORMAL
        deviation = rr / rr.mean() - 1
        runs = [
            deviation[start : start + limits.nu_alt * period].reshape(limits.nu_alt, period)
            for period in (2, 3)
            for start in range(len(rr) - limits.nu_alt * period + 1)
        ]
        theta = limits.theta_alt
        alternates = any(
            all(cycle.min() < -theta and cycle.max() > theta for cycle in run)
            and bool((np.abs(np.diff(run, axis=0)) < theta).all())
            for run in runs
        )
        phases = []
        for centre in centres:
            delta = centre - min(peaks, key=lambda peak: abs(centre - peak))
            if abs(delta) <= limits.delta_r:
                phases.append(Phase.R)
            elif abs(delta) > rr.mean() / 2:
                phases.append(Phase.MASKED)
            else:
                after = Phase.ST if delta <= rr.mean() / 3 else Phase.T_WAVE
                phases.append(Phase.PRE_R if delta < 0 else after)
        yield rr.mean() / model.fs, rr.std() / rr.mean(), rate, alternates, phases


def test_many_records_at_once_give_the_very_numbers_of_one_by_one():
    draw = np.random.default_rng(0)
    rpeaks, intervals = [], np.array([[400, 400, 400], [300, 520, 300], [400, 250, 550]])
    for record in range(150):
        beats = np.arange(draw.integers(0, 22))
        regular = intervals[record % 3][beats % (2 + record % 2)]
        peaks = np.cumsum(regular + draw.integers(-40, 40, len(beats))) - 200
        rpeaks.append(peaks[(peaks >= 0) & (peaks < 4700)].astype(np.int64))
    model, limits = ModelConfig(), MspsConfig()
    copies = 160  # more records with equally many beats than are computed at once
    together, alone = physiology(rpeaks * copies, model, limits), list(one_by_one(rpeaks, model, limits))
    assert {each[2] for each in alone} >= {Rate.NORMAL, Rate.TACHY, Rate.NONE}
    assert 0 < sum(each[3] for each in alone) < len(alone)
    for column, exact in zip(together, zip(*alone, strict=True), strict=True):
        assert column.tobytes() == np.array(exact * copies, column.dtype).tobytes()


def test_a_corpus_without_records_or_beats_has_no_rhythm():
    limits = MspsConfig()
    assert physiology([], ModelConfig(), limits).phase_MT.shape == (0, 139)
    assert physiology([np.zeros(0, np.int64)], ModelConfig(), limits).rate_M.tolist() == [Rate.NONE]
