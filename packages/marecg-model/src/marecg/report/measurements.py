"""What an electrocardiograph prints beside a tracing: rate, PR, QRS, QT, QTc and the axis, from the tracing.

They are measured on lead II (the axis on I and aVF) by NeuroKit2's delineation, as the probe's hand-crafted
baseline does, and left out where less than half of the beats can be delineated. A PR that changes from beat
to beat is none: in atrial fibrillation the delineation finds P waves where there are none.

Shapes: K leads, L samples at 500 Hz, N beats.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.ecg import rpeaks
from marecg.ecg.signal import resample
from marecg.evaluate.methods.handcrafted import delineate

FS = 500
LEAST_BEATS = 3
KNOWN = 0.5
"""The share of beats that must have an interval for its median to be told."""
PLAUSIBLE_MS = {"pr": (80, 400), "qrs": (40, 250), "qt": (200, 700)}
STEADY_MS = 40
"""The quartiles of a PR lie nearer together. Of 30 real records each, 29 in sinus rhythm and 28 with
first-degree AV block tell their PR, and 5 in atrial fibrillation, where without this all 30 did."""
QRS_HALF = 0.05
"""Seconds around an R-peak in which the QRS complex is weighed for the axis."""


class Measurements(NamedTuple):
    """Beats per minute, milliseconds and degrees; None where the tracing doesn't tell."""

    rate: float | None = None
    pr: float | None = None
    qrs: float | None = None
    qt: float | None = None
    qtc: float | None = None
    axis: float | None = None


def measurements(x_KL: NDArray[np.float32], fs: float, leads: Sequence[str]) -> Measurements:
    """Measure a record in mV; QTc is Bazett's, QT/√RR."""
    x_KL = resample(np.nan_to_num(x_KL), fs, FS)
    place = {name.lower(): number for number, name in enumerate(leads)}
    beats = rpeaks.detect(x_KL[place.get("i", 0)], FS)
    rr = float(np.median(np.diff(beats))) / FS if len(beats) >= LEAST_BEATS else None
    found = {"rate": 60 / rr if rr else None}
    if "ii" in place:
        waves = delineate(x_KL[place["ii"]].astype(np.float64))
        ends = {
            "pr": ("P_Onsets", "R_Onsets"),
            "qrs": ("R_Onsets", "R_Offsets"),
            "qt": ("R_Onsets", "T_Offsets"),
        }
        for name, (start, end) in ends.items():
            steady = STEADY_MS if name == "pr" else math.inf
            found[name] = _milliseconds(waves[end] - waves[start], *PLAUSIBLE_MS[name], steady)
    if rr and found.get("qt"):
        found["qtc"] = found["qt"] / math.sqrt(rr)  # type: ignore[operator]
    if {"i", "avf"} <= place.keys() and len(beats) >= LEAST_BEATS:
        found["axis"] = _axis(x_KL[place["i"]], x_KL[place["avf"]], beats)
    return Measurements(**found)


def _milliseconds(lengths_N: NDArray[np.float64], low: float, high: float, steady: float) -> float | None:
    """The median of what is known and plausible, if its quartiles lie no further apart than `steady`."""
    known_N = lengths_N[np.isfinite(lengths_N)] * 1000 / FS
    known_N = known_N[(known_N >= low) & (known_N <= high)]
    enough = len(known_N) >= max(LEAST_BEATS, KNOWN * len(lengths_N))
    if not enough or np.subtract(*np.percentile(known_N, [75, 25])) > steady:
        return None
    return float(np.median(known_N))


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
