"""Mains hum: detection by its strength relative to neighbouring frequencies, and subtraction.

Shapes: K leads, L samples, S sines.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ecg_records.signal.filters import band, zero_phase

MAINS_HZ = (50, 60)
WIDTH_HZ, BESIDE_HZ = 0.3, 3
"""Largest deviation of hum from its frequency, and distance at which only heart and noise are expected."""
LEAST_MV, STANDS_OUT = 0.03, 3
"""Least amplitude of subtracted hum, and its least ratio to the amplitude of neighbouring frequencies."""
PIECE_S, LEAST_S = 10, 2
ABOVE_HZ = 10
"""High-pass in Hz before the fit. A slow wave that a piece cuts off contains all frequencies."""
LEAST_VALUE = 1e-3
"""Least singular value, as a share of the largest. Sines below it depend on the other sines."""
Floats = NDArray[np.float64]


def without_hum(x_KL: Floats, fs: float) -> Floats:
    """Subtract mains hum of 50 or 60 Hz and its harmonics from the leads [K, L] in mV that have hum.

    A lead has hum if the band of the base frequency is far stronger than the neighbouring bands. Sines near
    this frequency are fitted to every ten seconds, so that QRS complexes cause no ringing. A lead without hum
    isn't changed.
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
        aside = (hertz - BESIDE_HZ, hertz + BESIDE_HZ)
        beside_K = np.max([_strength(fast_KL, other, fs) for other in aside], axis=0)
        has_K = (strength_K > LEAST_MV) & (strength_K > STANDS_OUT * beside_K)
        if not has_K.any():
            continue
        x_KL = x_KL.copy()
        for harmonic in np.arange(hertz, fs / 2 - 1, hertz).tolist():
            sines_LS = _sines(samples, harmonic, fs)
            x_KL[has_K] -= (fast_KL[has_K] @ sines_LS) @ sines_LS.T
    return x_KL


def _strength(x_KL: Floats, hertz: float, fs: float) -> Floats:
    """Return the amplitude in mV of each lead's sines near a frequency."""
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
