"""What may be wrong with the electrodes of a recording: a lead that is off, one that is noisy, swapped arms.

Shapes: K leads, L samples at 500 Hz, B samples of a beat, N beats.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.ecg.median_beat import BEFORE, FS, beats, limb_leads_first, low_pass, median_beat
from marecg.ecg.signal import resample

OFF_MV = 0.02
"""A lead between whose 1st and 99th percentile lies less isn't an electrode's on skin."""
NOISE_HZ, NOISE_MV = 40, 0.04
"""Root mean square above this frequency from which a lead is noisy: muscle or mains."""
COMPLEX, P_WAVE = slice(BEFORE - 30, BEFORE + 40), slice(BEFORE - 100, BEFORE - 15)
OPPOSITE_QRS, OPPOSITE_P = -0.5, -0.3
"""Correlations of lead I with V6, its neighbour: with swapped arms both lie far below zero. The limits were
chosen on 300 normal records of PTB-XL; of 905 none is found, 96 % with the arms swapped."""


class Doubts(NamedTuple):
    """Names of leads that are off and that are noisy, and whether the arms' electrodes seem swapped."""

    off: tuple[str, ...] = ()
    noisy: tuple[str, ...] = ()
    swapped_arms: bool = False


def doubts(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]) -> Doubts:
    """Look for faults of a recording in mV; swapped arms need leads I and V6."""
    mv_KL = np.nan_to_num(resample(np.asarray(x_KL, np.float32), fs, FS)).astype(np.float64)
    low_K, high_K = np.percentile(mv_KL, [1, 99], axis=1)
    off_K = high_K - low_K < OFF_MV
    noisy_K = (mv_KL - low_pass(mv_KL, NOISE_HZ)).std(axis=1) > NOISE_MV
    names = [name.strip().lower() for name in leads]
    order = limb_leads_first(leads)
    aligned, in_order = beats(mv_KL, order), [names[row] for row in order]
    swapped = len(aligned.peaks_N) > 1 and arms_swapped(median_beat(aligned.windows()), in_order)
    off, noisy = (
        tuple(leads[row] for row in np.flatnonzero(is_so_K).tolist()) for is_so_K in (off_K, noisy_K)
    )
    return Doubts(off, noisy, swapped)


def arms_swapped(beat_KB: NDArray[np.float64], names: Sequence[str]) -> bool:
    """Whether P and QRS of lead I stand on their heads beside V6; `names` are the leads in lower case."""
    if not {"i", "v6"} <= set(names):
        return False
    pair_KB = beat_KB[[names.index("i"), names.index("v6")]]
    pair_KB -= np.median(pair_KB[:, BEFORE - 120 : BEFORE + 220], axis=1, keepdims=True)
    qrs, p = (_correlation(*pair_KB[:, part]) for part in (COMPLEX, P_WAVE))
    return qrs < OPPOSITE_QRS and p < OPPOSITE_P


def _correlation(a_B: NDArray[np.float64], b_B: NDArray[np.float64]) -> float:
    length = np.linalg.norm(a_B) * np.linalg.norm(b_B)
    return float(a_B @ b_B / max(length, np.finfo(float).tiny))
