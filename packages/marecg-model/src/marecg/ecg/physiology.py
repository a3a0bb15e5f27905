"""What the R-peaks say of a record: the targets of multi-scale physiological supervision (§MSPS).

Made once per corpus from the stored peaks, never per step.

Shapes: M records, T patches.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.config import ModelConfig, Settings, paper


class Rate(IntEnum):
    """Heart-rate buckets; NONE is masked out of the loss."""

    BRADY = 0
    NORMAL = 1
    TACHY = 2
    NONE = 3


class Phase(IntEnum):
    """Where a patch stands relative to its nearest R-peak; MASKED leaves the loss."""

    MASKED = -1
    PRE_R = 0
    R = 1
    ST = 2
    T_WAVE = 3


class RhythmThresholds(Settings):
    """Where one bucket, rhythm or phase ends and the next begins (§subsec:multiscale-sca)."""

    brady_bpm: float = paper(60, "§sec:values: θ_brady", gt=0)
    tachy_bpm: float = paper(100, "§sec:values: θ_tachy", gt=0)
    theta_alt: float = paper(0.15, "§sec:values: θ_alt", gt=0)
    nu_alt: int = paper(2, "§sec:values: ν_alt, cycles in a row", gt=0)
    delta_r: int = paper(50, "§sec:values: δ_R in samples", gt=0)


class Physiology(NamedTuple):
    """Rhythm statistics per record and a phase per patch.

    `mean_rr_M` is in seconds, `rr_cv_M` a ratio; both are 0 where `rate_M` is NONE. `alternates_M` is 0 or 1.
    """

    mean_rr_M: NDArray[np.float32]
    rr_cv_M: NDArray[np.float32]
    rate_M: NDArray[np.int64]
    alternates_M: NDArray[np.float32]
    phase_MT: NDArray[np.int8]


def physiology(
    rpeaks: Sequence[NDArray[np.int64]], model: ModelConfig, limits: RhythmThresholds
) -> Physiology:
    """Read the targets off the R-peaks inside the encoder's context.

    Args:
        rpeaks: for each of M records, sample indices at `model.fs`.
        model: the patches; `limits`: the thresholds.
    """
    records = len(rpeaks)
    found = Physiology(
        np.zeros(records, np.float32),
        np.zeros(records, np.float32),
        np.full(records, Rate.NONE, np.int64),
        np.zeros(records, np.float32),
        np.full((records, model.context_patches), Phase.MASKED, np.int8),
    )
    centres_T = np.arange(model.context_patches) * model.stride + model.patch // 2
    for record, all_peaks in enumerate(rpeaks):
        peaks = all_peaks[all_peaks < model.context]
        if len(peaks) < 2:
            continue
        rr = np.diff(peaks)
        mean_rr = rr.mean()
        bpm = 60 * model.fs / mean_rr
        found.mean_rr_M[record] = mean_rr / model.fs
        found.rr_cv_M[record] = rr.std() / mean_rr
        found.rate_M[record] = (
            Rate.BRADY if bpm < limits.brady_bpm else Rate.TACHY if bpm > limits.tachy_bpm else Rate.NORMAL
        )
        found.alternates_M[record] = alternates(rr, limits.theta_alt, limits.nu_alt)
        found.phase_MT[record] = phases(centres_T, peaks, limits.delta_r)
    return found


def alternates(rr: NDArray[np.int64], theta: float, cycles: int) -> bool:
    """Whether the intervals go by twos (bigeminy) or by threes (trigeminy) for so many cycles in a row.

    A cycle counts when one of its intervals is shorter and one longer than the mean by more than `theta`
    of it, and when each interval is within `theta` of its counterpart in the cycle before.
    """
    deviation = rr / rr.mean() - 1
    for period in (2, 3):
        run = cycles * period
        for start in range(len(deviation) - run + 1):
            by_cycle = deviation[start : start + run].reshape(cycles, period)
            swings = (by_cycle.min(1) < -theta) & (by_cycle.max(1) > theta)
            repeats = np.abs(np.diff(by_cycle, axis=0)) < theta
            if swings.all() and repeats.all():
                return True
    return False


def phases(centres_T: NDArray[np.int64], peaks: NDArray[np.int64], delta_r: int) -> NDArray[np.int8]:
    """The phase of each patch by the signed distance Δ from its nearest R-peak to its centre, int8 [T].

    |Δ| ≤ δ_R is R, and Δ < 0 PRE-R; after it, ST up to a third of the mean RR interval and T-wave up to half.
    Farther than half an interval from any peak a patch has no usable neighbourhood.
    """
    distance_TK = centres_T[:, None] - peaks
    nearest_T = np.abs(distance_TK).argmin(1)
    delta_T = distance_TK[np.arange(len(centres_T)), nearest_T]
    mean_rr = np.diff(peaks).mean()
    return np.select(
        [np.abs(delta_T) <= delta_r, np.abs(delta_T) > mean_rr / 2, delta_T < 0, delta_T <= mean_rr / 3],
        [Phase.R, Phase.MASKED, Phase.PRE_R, Phase.ST],
        default=Phase.T_WAVE,
    ).astype(np.int8)
