"""What is measured on a tracing: the rate, and the frontal axis from I and aVF.

Shapes: K leads, L samples at 500 Hz.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.ecg import rpeaks
from marecg.ecg.signal import resample

FS = 500
LEAST_BEATS = 3
QRS_HALF = 0.05
"""Seconds around an R-peak in which the QRS complex is weighed for the axis."""


class Measurements(NamedTuple):
    """Beats per minute and degrees; None where the tracing doesn't tell."""

    rate: float | None = None
    axis: float | None = None


def measurements(x_KL: NDArray[np.float32], fs: float, leads: Sequence[str]) -> Measurements:
    """Measure a record in mV."""
    x_KL = resample(np.nan_to_num(x_KL), fs, FS)
    place = {name.lower(): number for number, name in enumerate(leads)}
    beats = rpeaks.detect(x_KL[place.get("i", 0)], FS)
    if len(beats) < LEAST_BEATS:
        return Measurements()
    rate = 60 * FS / float(np.median(np.diff(beats)))
    if not {"i", "avf"} <= place.keys():
        return Measurements(rate)
    return Measurements(rate, _axis(x_KL[place["i"]], x_KL[place["avf"]], beats))


def _axis(i_L: NDArray[np.float32], avf_L: NDArray[np.float32], beats: NDArray[np.int64]) -> float:
    """The frontal axis: the direction of the net QRS area in I and aVF, whose units differ by 2/√3."""
    half = round(QRS_HALF * FS)
    inside = beats[(beats >= 2 * half) & (beats < len(i_L) - half)]

    def net(lead_L: NDArray[np.float32]) -> float:
        areas = [
            float(
                (lead_L[beat - half : beat + half] - np.median(lead_L[beat - 2 * half : beat - half])).sum()
            )
            for beat in inside
        ]
        return float(np.median(areas)) if areas else 0.0

    return math.degrees(math.atan2(2 / math.sqrt(3) * net(avf_L), net(i_L)))
