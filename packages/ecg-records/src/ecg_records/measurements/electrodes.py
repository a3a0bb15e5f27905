"""Electrode faults of a recording: disconnected, noisy and loose leads, swapped arms.

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
"""A lead between whose 1st and 99th percentile lies less isn't an electrode's on skin."""
NOISE_HZ, NOISE_S, NOISE_MV = 40, 0.05, 0.025
"""Root mean square above this frequency, over so long a stretch, that a noisy lead exceeds half of the time:
muscle and mains last, steep QRS complexes and a pacemaker's spikes don't."""

SWING_MV, SWING_S, SWING_HZ = 3, 0.4, 50
"""What the running median over so long, which no QRS complex or T wave moves, spans at most on a good
electrode: 0.5 mV in half of the records of PTB-XL and Chapman, 3 in 98 %."""
JUMP_MV, JUMP_S, JUMPIER = 2, 0.2, 12
"""By how much it may change at once, and how many times as much as in most leads: wide complexes and the
value that some files hold at their end stay below 11, what was seen to be an electrode's jump lies above."""


class Doubts(NamedTuple):
    """Electrode faults: names of disconnected, noisy and loose leads, and whether the arms seem swapped."""

    off: tuple[str, ...] = ()
    noisy: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    swapped_arms: bool = False


def doubts(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]) -> Doubts:
    """Find electrode faults of a recording in mV; swapped arms need leads I and V6."""
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
