"""Targets of multi-scale physiological supervision (MSPS): rhythm statistics, and the phase of each patch.

The phase is the position of a patch in its beat. The targets are computed once per corpus from the stored
R-peaks, not in every training step.

Shapes: M records, T patches, G records with the same number of beats, K beats, J intervals between beats.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.model.config import ModelConfig
from marecg.settings import Settings, paper

TOGETHER = 1024
"""Number of records processed at once. Their phases fit into the processor's cache."""


class Rate(IntEnum):
    """Heart-rate classes.

    A record with NONE has fewer than two R-peaks in the encoder's context, and doesn't count in the loss.
    """

    BRADY = 0
    NORMAL = 1
    TACHY = 2
    NONE = 3


class Phase(IntEnum):
    """Position of a patch relative to its nearest R-peak. MASKED patches don't count in the loss."""

    MASKED = -1
    PRE_R = 0
    R = 1
    ST = 2
    T_WAVE = 3


class RhythmThresholds(Settings):
    """Thresholds for heart-rate classes, alternating RR intervals and phases."""

    brady_bpm: float = paper(60, "§sec:values: θ_brady", gt=0)
    tachy_bpm: float = paper(100, "§sec:values: θ_tachy", gt=0)
    theta_alt: float = paper(0.15, "§sec:values: θ_alt", gt=0)
    nu_alt: int = paper(2, "§sec:values: ν_alt, cycles in a row", gt=0)
    delta_r: int = paper(50, "§sec:values: δ_R in samples", gt=0)


class Physiology(NamedTuple):
    """Rhythm statistics of each record, and the phase of each patch.

    Attributes:
        mean_rr_M: mean RR interval in seconds. 0 if `rate_M` is NONE.
        rr_cv_M: standard deviation of the RR intervals, divided by their mean. 0 if `rate_M` is NONE.
        rate_M: `Rate` of each record.
        alternates_M: 1 if RR intervals alternate, otherwise 0.
        phase_MT: `Phase` of each patch.
    """

    mean_rr_M: NDArray[np.float32]
    rr_cv_M: NDArray[np.float32]
    rate_M: NDArray[np.int64]
    alternates_M: NDArray[np.float32]
    phase_MT: NDArray[np.int8]


def physiology(
    rpeaks: Sequence[NDArray[np.int64]], model: ModelConfig, limits: RhythmThresholds
) -> Physiology:
    """Compute the targets of records from their R-peaks in the encoder's context.

    Records with the same number of beats are processed together, because a corpus has few different numbers
    of beats.

    Args:
        rpeaks: sample indices of each record's R-peaks, at `model.fs`.
        model: settings of the encoder, which determine the context and the patches.
        limits: thresholds.
    """
    records = len(rpeaks)
    targets = Physiology(
        np.zeros(records, np.float32),
        np.zeros(records, np.float32),
        np.full(records, Rate.NONE, np.int64),
        np.zeros(records, np.float32),
        np.full((records, model.context_patches), Phase.MASKED, np.int8),
    )
    centres_T = np.arange(model.context_patches) * model.stride + model.patch // 2
    for rows_G, peaks_GK in _of_equal_counts(rpeaks, model.context):
        rr_GJ = np.diff(peaks_GK)
        mean_rr_G = rr_GJ.mean(axis=1)
        bpm_G = 60 * model.fs / mean_rr_G
        targets.mean_rr_M[rows_G] = mean_rr_G / model.fs
        targets.rr_cv_M[rows_G] = rr_GJ.std(axis=1) / mean_rr_G
        targets.rate_M[rows_G] = np.select(
            [bpm_G < limits.brady_bpm, bpm_G > limits.tachy_bpm], [Rate.BRADY, Rate.TACHY], Rate.NORMAL
        )
        targets.alternates_M[rows_G] = alternates(rr_GJ, limits.theta_alt, limits.nu_alt)
        targets.phase_MT[rows_G] = phases(centres_T, peaks_GK, limits.delta_r)
    return targets


def alternates(rr_GJ: NDArray[np.int64], theta: float, cycles: int) -> NDArray[np.bool_]:
    """Return whether RR intervals alternate in twos (bigeminy) or threes (trigeminy) for `cycles` cycles.

    A cycle is a group of two or three consecutive intervals. It must contain an interval that is shorter than
    the mean by more than `theta` times the mean, and an interval that is longer by as much. Each interval
    must differ by less than `theta` times the mean from the corresponding interval in the previous cycle.
    """
    deviation_GJ = rr_GJ / rr_GJ.mean(axis=1, keepdims=True) - 1
    alternates_G = np.zeros(len(rr_GJ), bool)
    for period in (2, 3):
        for start in range(rr_GJ.shape[1] - cycles * period + 1):
            run_GJ = deviation_GJ[:, start : start + cycles * period]
            by_cycle = run_GJ.reshape(len(run_GJ), cycles, period)
            swings = (by_cycle.min(2) < -theta) & (by_cycle.max(2) > theta)
            repeats = np.abs(np.diff(by_cycle, axis=1)) < theta
            alternates_G |= swings.all(1) & repeats.all((1, 2))
    return alternates_G


def phases(centres_T: NDArray[np.int64], peaks_GK: NDArray[np.int64], delta_r: int) -> NDArray[np.int8]:
    """Return the phase of each patch by its centre's distance Δ from the nearest R-peak, int8 [G, T].

    The phase is R if |Δ| is at most `delta_r`, and otherwise PRE-R if Δ < 0. After the peak, the phase is ST
    up to a third of the mean RR interval, and T-wave up to half of the mean RR interval. Patches that are
    farther than half of the mean RR interval from any peak are MASKED.
    """
    mean_rr_G1 = np.diff(peaks_GK).mean(axis=1, keepdims=True)
    centres_T, peaks_KG1 = centres_T.astype(np.int32), peaks_GK.T.astype(np.int32)[..., None]
    delta_GT = centres_T - peaks_KG1[0]
    for before_G1, peak_G1 in pairwise(peaks_KG1):  # a tie goes to the earlier peak
        np.subtract(centres_T, peak_G1, out=delta_GT, where=2 * centres_T > peak_G1 + before_G1)
    away_GT = np.abs(delta_GT)
    return np.select(
        [away_GT <= delta_r, away_GT > mean_rr_G1 / 2, delta_GT < 0, delta_GT <= mean_rr_G1 / 3],
        [np.int8(phase) for phase in (Phase.R, Phase.MASKED, Phase.PRE_R, Phase.ST)],
        default=np.int8(Phase.T_WAVE),
    )


def _of_equal_counts(
    rpeaks: Sequence[NDArray[np.int64]], context: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield groups of records with the same number K of peaks in the context: row numbers [G], peaks [G, K].

    Records with fewer than two peaks are left out.
    """
    peaks = np.concatenate([np.zeros(0, np.int64), *rpeaks])
    record = np.repeat(np.arange(len(rpeaks)), [len(beats) for beats in rpeaks])
    inside = peaks < context
    count_M = np.bincount(record[inside], minlength=len(rpeaks))
    peaks, first_M = peaks[inside], np.cumsum(count_M) - count_M
    for count in np.unique(count_M[count_M >= 2]).tolist():
        rows = np.flatnonzero(count_M == count)
        for rows_G in np.split(rows, range(TOGETHER, len(rows), TOGETHER)):
            yield rows_G, peaks[first_M[rows_G][:, None] + np.arange(count)]
