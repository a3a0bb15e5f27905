"""Detect pacemaker spikes in several leads at once, and replace them by straight lines.

Shapes: K leads, L samples, P places of spikes.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

AnyFloat = TypeVar("AnyFloat", bound=np.floating[Any])
SPIKE_MV, SPIKE_UNEVEN, SPIKE_LEADS = 0.3, 0.25, 2
"""Minimum height of a spike in mV, maximum change of the baseline around it as a share of its height, and
minimum number of leads with the spike."""
SPIKE_SIDE_S = 0.008
"""Time in s after which the signal is back at the baseline, on either side of a spike. All waves are
wider."""

PACED_S = (-0.4, 0.02)
"""Times in s relative to an R-peak between which an atrial or ventricular spike paces the beat."""


def spike_samples(x_KL: NDArray[np.floating], fs: float) -> NDArray[np.int64]:
    """Return the samples of spikes, at which several leads deviate briefly from a level baseline."""
    side = max(1, round(SPIKE_SIDE_S * fs))
    if x_KL.shape[1] <= 4 * side:
        return np.zeros(0, np.int64)
    middle_KL = x_KL[:, 2 * side : -2 * side]
    before_KL, behind_KL = x_KL[:, side : -3 * side], x_KL[:, 3 * side : -side]
    screened = slice(None, None, 2)  # every second lead, for speed, although this can miss a spike
    twice_KL = before_KL[screened] + behind_KL[screened]
    twice_KL -= 2 * middle_KL[screened]
    places = np.flatnonzero((np.abs(twice_KL, out=twice_KL) > 2 * SPIKE_MV).any(0))
    if not len(places):
        return places
    height_KP = abs(middle_KL[:, places] - (before_KL[:, places] + behind_KL[:, places]) / 2)
    uneven_KP = np.max(
        [
            abs(behind_KL[:, places] - before_KL[:, places]),
            abs(before_KL[:, places] - x_KL[:, places]),
            abs(behind_KL[:, places] - x_KL[:, places + 4 * side]),
        ],
        axis=0,
    )
    stands_KP = (height_KP > SPIKE_MV) & (uneven_KP < SPIKE_UNEVEN * height_KP)
    return np.asarray(places[stands_KP.sum(0) >= SPIKE_LEADS] + 2 * side, np.int64)


def without_spikes(x_KL: NDArray[AnyFloat], fs: float) -> NDArray[AnyFloat]:
    """Return the signal with straight lines in place of spikes. A signal without spikes isn't copied."""
    spikes = spike_samples(x_KL, fs)
    if not len(spikes):
        return x_KL
    side, flat_KL = max(1, round(SPIKE_SIDE_S * fs)), x_KL.copy()
    for spike in spikes:
        first, last = spike - side, min(spike + 2 * side, x_KL.shape[1] - 1)
        flat_KL[:, first : last + 1] = np.linspace(
            flat_KL[:, first], flat_KL[:, last], last - first + 1, axis=1
        )
    return flat_KL


def goes_before(spikes: NDArray[np.int64], peaks_n: NDArray[np.int64], fs: float) -> bool:
    """Return whether spikes precede at least half of the beats."""
    first, last = (round(seconds * fs) for seconds in PACED_S)
    away_nS = spikes[None] - peaks_n[:, None]
    return bool(len(spikes)) and bool(((away_nS >= first) & (away_nS <= last)).any(1).mean() >= 0.5)
