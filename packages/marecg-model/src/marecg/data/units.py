"""Whether samples can be millivolts: a wrong unit is the commonest fault of an array, and silent.

Shapes: K leads as named, L samples.
"""

import numpy as np
from numpy.typing import NDArray

LARGEST = 10.0
"""mV: as `CorpusConfig.amplitude_limit`. 293 real records of seven collections lie between 0.07 and 4.7."""
SMALLEST = 0.01
"""mV: two steps of a coarse converter, below the noise of an electrode."""

ENOUGH = 2000
"""Samples per lead."""


def typical_amplitude(x_KL: NDArray[np.floating]) -> float:
    """The leads' median of the 99th percentile of |x − median|, which no artefact moves much.

    A long recording is looked at in steps: a few thousand samples tell as much.
    """
    x_KL = x_KL[:, :: max(1, x_KL.shape[1] // ENOUGH)]
    away_KL = np.abs(x_KL - np.median(x_KL, axis=1, keepdims=True))
    return float(np.median(np.percentile(away_KL, 99, axis=1)))


def amplitude_doubt(x_KL: NDArray[np.floating]) -> str | None:
    """Why the samples are hardly millivolts, or None; a flat record is no question of units."""
    amplitude = typical_amplitude(x_KL)
    if amplitude > LARGEST:
        return f"waves of {amplitude:.3g} mV are no heart's: are these microvolts, or a converter's integers?"
    if 0 < amplitude < SMALLEST:
        return f"waves of {amplitude:.1g} mV are no heart's: are these volts?"
    return None
