"""Swapped arm electrodes: comparison of lead I with V6.

Shapes: K leads, B samples of a beat.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marecg.ecg.median_beat import BEFORE

COMPLEX, P_WAVE = slice(BEFORE - 30, BEFORE + 40), slice(BEFORE - 100, BEFORE - 15)
OPPOSITE_QRS, OPPOSITE_P = -0.5, -0.3
"""Correlations of lead I with V6, its neighbour: with swapped arms both lie far below zero. The limits were
chosen on 300 normal records of PTB-XL; of 905 none is found, 96 % with the arms swapped."""


def arms_swapped(beat_KB: NDArray[np.float64], names: Sequence[str]) -> bool:
    """Whether P and QRS of lead I are inverted relative to V6; `names` are leads in lower case."""
    if not {"i", "v6"} <= set(names):
        return False
    pair_KB = beat_KB[[names.index("i"), names.index("v6")]]
    pair_KB -= np.median(pair_KB[:, BEFORE - 120 : BEFORE + 220], axis=1, keepdims=True)
    qrs, p = (_correlation(*pair_KB[:, part]) for part in (COMPLEX, P_WAVE))
    return qrs < OPPOSITE_QRS and p < OPPOSITE_P


def _correlation(a_B: NDArray[np.float64], b_B: NDArray[np.float64]) -> float:
    length = np.linalg.norm(a_B) * np.linalg.norm(b_B)
    return float(a_B @ b_B / max(length, np.finfo(float).tiny))
