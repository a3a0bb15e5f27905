"""Convert the samples of a recording: rates, units, resampling and amplitudes.

Shapes: C leads (in the order of `leads.LEADS`), K leads of the file, L samples.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.signal.leads import lead_rows

SLOWEST, FASTEST = 50, 100_000
"""Range of possible sampling rates of an ECG in Hz."""

UNITS_PER_MV = {"v": 1e-3, "mv": 1.0, "uv": 1e3, "µv": 1e3, "μv": 1e3, "nv": 1e6}
"""Number of units in a millivolt, by the unit's name in lower case. Unicode has two characters for micro."""


def unit_in_volts(unit: str | None) -> float | None:
    """Return the number of units in a millivolt, or None if the unit doesn't measure voltage.

    A letter that can't be decoded as UTF-8 is taken for a micro sign in Latin-1.

    Example:
        >>> unit_in_volts("uV"), unit_in_volts("\N{REPLACEMENT CHARACTER}V"), unit_in_volts("mmHg")
        (1000.0, 1000.0, None)
    """
    return UNITS_PER_MV.get((unit or "").strip().lower().replace("\N{REPLACEMENT CHARACTER}", "u"))


COMPUTABLE_MV = 1e9
"""Maximum sample in mV. The square of a larger sample may overflow float32, and real voltages are far
smaller."""


def order_leads(x_KL: NDArray[np.float32], names: Sequence[str]) -> NDArray[np.float32]:
    """Return the twelve leads in standard order, [12, L]. Raises the errors of `lead_rows`."""
    return x_KL[lead_rows(names)]


def resample(x_CL: NDArray[np.float32], fs: float, to: float = 500) -> NDArray[np.float32]:
    """Resample from `fs` to `to` Hz with scipy's polyphase filter: [C, L] → [C, ⌈L·to/fs⌉].

    Beyond its ends, the signal is continued by the line through its first and last sample, so that an offset
    doesn't cause ringing.
    """
    if fs == to:
        return x_CL
    from scipy.signal import resample_poly  # noqa: PLC0415 (half a second, which settings save)

    ratio = Fraction(to / fs).limit_denominator(1000)
    y_CL = resample_poly(x_CL.astype(np.float64), ratio.numerator, ratio.denominator, axis=1, padtype="line")
    return y_CL.astype(np.float32)


HIGHEST_MV = 10.0
"""Maximum plausible amplitude (`typical_amplitude`) in mV, equal to `QualityLimits.amplitude_limit`.

In 293 real records of seven collections, amplitudes lie between 0.07 and 4.7 mV.
"""
LOWEST_MV = 0.01
"""Minimum plausible amplitude (`typical_amplitude`) in mV: two steps of a coarse converter, less than
electrode noise."""

_SAMPLES = 2000
"""Approximate number of samples per lead that determine the amplitude."""


def median(x_L: NDArray[np.floating]) -> Any:
    """Return the median of finite numbers along the last axis, two to three times as fast as numpy.

    `numpy.median` partitions at several indices. Only partitioning at a single index is vectorised in numpy.

    Example:
        >>> float(median(np.array([3.0, 1.0, 2.0, 10.0])))
        2.5
    """
    middle = x_L.shape[-1] // 2
    parted_L = np.partition(x_L, middle, axis=-1)
    upper = parted_L[..., middle]
    return upper if x_L.shape[-1] % 2 else (parted_L[..., :middle].max(axis=-1) + upper) / 2


def typical_amplitude(x_KL: NDArray[np.floating]) -> float:
    """Return a typical amplitude of a record in mV that is robust to artefacts.

    The amplitude of a lead is the 99th percentile of |x − median|. The result is the median over leads.

    Long recordings are subsampled to a few thousand samples.
    """
    x_KL = x_KL[:, :: max(1, x_KL.shape[1] // _SAMPLES)]
    away_KL = np.sort(np.abs(x_KL - median(x_KL)[:, None]), axis=1)
    return float(median(away_KL[:, round(0.99 * (away_KL.shape[1] - 1))]))


def amplitude_doubt(x_KL: NDArray[np.floating]) -> str | None:
    """Return a reason to doubt that samples are in millivolts, or None. Flat records are not checked."""
    amplitude = typical_amplitude(x_KL)
    expected = f"amplitudes must be {LOWEST_MV:g} to {HIGHEST_MV:g} mV"
    if amplitude > HIGHEST_MV:
        return f"{expected}, got {amplitude:.3g} mV: are these microvolts, or raw integers?"
    if 0 < amplitude < LOWEST_MV:
        return f"{expected}, got {amplitude:.1g} mV: are these volts?"
    return None
