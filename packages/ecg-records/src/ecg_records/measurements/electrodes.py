"""Find electrode faults: disconnected, noisy and loose leads, and swapped arm electrodes.

Shapes: K leads, L samples at 500 Hz.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter, uniform_filter1d

from ecg_records.measurements.intervals import measure
from ecg_records.measurements.median_beat import FS, low_pass
from ecg_records.signal.samples import resample

OFF_MV = 0.02
"""Minimum range of a connected lead in mV, from the 1st to the 99th percentile."""
NOISE_HZ, NOISE_S, NOISE_MV = 40, 0.05, 0.025
"""A lead is noisy if its root mean square above `NOISE_HZ` exceeds `NOISE_MV` in half of all stretches of
`NOISE_S`.

Muscle noise and mains hum are continuous. QRS complexes and pacemaker spikes are too short to reach half of
the stretches.
"""

SWING_MV, SWING_S, SWING_HZ = 3, 0.4, 50
"""A lead is loose if the range of its running median exceeds `SWING_MV`. The other values are the window in s
and the sampling rate of the running median.

QRS complexes and T waves don't change this median. Its range is at most 0.5 mV in half of the records of
PTB-XL and Chapman, and at most 3 mV in 98 %.
"""
JUMP_MV, JUMP_S, JUMPIER = 2, 0.2, 12
"""A lead is also loose if its running median changes within `JUMP_S` by more than `JUMP_MV` and by more than
`JUMPIER` times the largest change in the median lead.

Wide complexes, and the constant value at the end of some files, stay below a ratio of 11. Jumps that a human
reader attributed to an electrode have higher ratios.
"""


class Doubts(NamedTuple):
    """Electrode faults: names of disconnected, noisy and loose leads, and whether the arms are swapped."""

    off: tuple[str, ...] = ()
    noisy: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    swapped_arms: bool = False


def doubts(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]) -> Doubts:
    """Return the electrode faults of a recording in mV.

    Swapped arm electrodes can be found only if leads I and V6 are present.
    """
    finite_KL = np.nan_to_num(np.asarray(x_KL, np.float32), posinf=0, neginf=0)
    mv_KL = resample(finite_KL, fs, FS).astype(np.float64)
    low_K, high_K = np.percentile(mv_KL, [1, 99], axis=1)
    off_K = high_K - low_K < OFF_MV
    power_KL = uniform_filter1d(np.square(mv_KL - low_pass(mv_KL, NOISE_HZ)), round(NOISE_S * FS), axis=1)
    noisy_K = np.median(power_KL, axis=1) > NOISE_MV**2
    slow_KL = median_filter(mv_KL[:, :: FS // SWING_HZ], (1, round(SWING_S * SWING_HZ) + 1))
    step = round(JUMP_S * SWING_HZ)
    jump_K = abs(slow_KL[:, step:] - slow_KL[:, :-step]).max(axis=1, initial=0)
    jumps_K = jump_K > max(JUMP_MV, JUMPIER * float(np.median(jump_K)))
    loose_K = (np.ptp(slow_KL, axis=1) > SWING_MV) | jumps_K
    swapped = measure(mv_KL, FS, leads).reasons.get("axis") == "swapped_arms"
    off, noisy, loose = (
        tuple(leads[row] for row in np.flatnonzero(is_so_K).tolist()) for is_so_K in (off_K, noisy_K, loose_K)
    )
    return Doubts(off, noisy, loose, swapped)
