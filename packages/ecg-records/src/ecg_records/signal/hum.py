"""Detect mains hum by its strength relative to neighbouring frequencies, and subtract it.

Shapes: K leads, L samples, S sines.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ecg_records.signal.filters import band, zero_phase

MAINS_HZ = (50, 60)
WIDTH_HZ, BESIDE_HZ = 0.3, 3
"""Maximum deviation of hum from its nominal frequency, and distance of the neighbouring frequencies without
hum."""
LEAST_MV, STANDS_OUT = 0.03, 3
"""Minimum amplitude of hum in mV, and minimum ratio to the amplitude of neighbouring frequencies."""
PIECE_S, LEAST_S = 10, 2
ABOVE_HZ = 10
"""Cut-off of the high-pass filter before the fit. Without the filter, slow waves that are cut off at the end
of a piece would add to all frequencies."""
LEAST_VALUE = 1e-3
"""Minimum singular value of a basis vector, as a share of the largest singular value."""
Floats = NDArray[np.float64]


def without_hum(x_KL: Floats, fs: float) -> Floats:
    """Subtract mains hum of 50 or 60 Hz and its harmonics from all leads with hum.

    A lead has hum if its amplitude at the mains frequency is much larger than at neighbouring frequencies.
    Sines near the mains frequency are fitted to pieces of ten seconds, because unlike a notch filter they
    don't ring after QRS complexes.

    Args:
        x_KL: the leads in mV.
        fs: sampling rate in Hz.
    """
    pieces = np.array_split(x_KL, max(1, round(x_KL.shape[1] / fs / PIECE_S)), axis=1)
    return np.concatenate([_without_hum(piece_KL, fs) for piece_KL in pieces], axis=1)


def _without_hum(x_KL: Floats, fs: float) -> Floats:
    samples = x_KL.shape[1]
    if samples < LEAST_S * fs:
        return x_KL
    fast_KL = zero_phase(x_KL, band(2, fs, ABOVE_HZ, "high"))
    for hertz in MAINS_HZ:
        if hertz + BESIDE_HZ >= fs / 2:
            continue
        strength_K = _strength(fast_KL, hertz, fs)
        neighbours = (hertz - BESIDE_HZ, hertz + BESIDE_HZ)
        neighbours_K = np.max([_strength(fast_KL, neighbour, fs) for neighbour in neighbours], axis=0)
        has_K = (strength_K > LEAST_MV) & (strength_K > STANDS_OUT * neighbours_K)
        if not has_K.any():
            continue
        x_KL = x_KL.copy()
        for harmonic in np.arange(hertz, fs / 2 - 1, hertz).tolist():
            sines_LS = _sines(samples, harmonic, fs)
            x_KL[has_K] -= (fast_KL[has_K] @ sines_LS) @ sines_LS.T
    return x_KL


def _strength(x_KL: Floats, hertz: float, fs: float) -> Floats:
    """Return each lead's amplitude in mV near the frequency `hertz`."""
    parts_KS = x_KL @ _sines(x_KL.shape[1], hertz, fs)
    return np.asarray(np.sqrt(2 * np.square(parts_KS).sum(axis=1) / x_KL.shape[1]))


@lru_cache(maxsize=32)
def _sines(samples: int, hertz: float, fs: float) -> Floats:
    """Return orthonormal sines near a frequency, [L, S]."""
    seconds_L = np.arange(samples) / fs
    step = fs / samples / 2
    reach = max(1, round(WIDTH_HZ / step))
    phases_LS = 2 * np.pi * seconds_L[:, None] * (hertz + step * np.arange(-reach, reach + 1))
    sines_LS = np.concatenate([np.cos(phases_LS), np.sin(phases_LS)], axis=1)
    left_LS, values_S, _ = np.linalg.svd(sines_LS, full_matrices=False)
    return np.ascontiguousarray(left_LS[:, values_S > LEAST_VALUE * values_S[0]])
