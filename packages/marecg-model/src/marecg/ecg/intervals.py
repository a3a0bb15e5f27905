"""What an electrocardiograph prints beside a tracing: rate, P, PR, QRS, QT, QTc and the axis, over all leads.

A value that can't be trusted is None, and `reasons` says why: too few beats that look alike, all beats and
every other one that disagree, no P wave that comes back with every beat (as in atrial fibrillation).

Shapes: K leads, L samples, N beats, B samples of a beat.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.ecg.delineation import P_HZ, Boundaries, delineate
from marecg.ecg.electrodes import arms_swapped
from marecg.ecg.median_beat import (
    BEFORE,
    FS,
    AlignedBeats,
    Floats,
    beats,
    limb_leads_first,
    low_pass,
    median_beat,
)
from marecg.ecg.signal import resample

LEAST_BEATS = 3
AGREE_MS = {"p": 40, "pr": 30, "qrs": 20, "qt": 40}
"""How far an interval may lie from another of the same record: beyond, noise has been measured."""
PLAUSIBLE_MS = {"p": (40, 240), "pr": (70, 450), "qrs": (50, 300), "qt": (200, 700)}
P_RETURNS = 0.75
"""How alike (correlation) the stretches before the QRS complexes are at least, in the median, where they are
P waves. Of PTB-XL's records, 98 % in sinus rhythm lie above, and 97 % in atrial fibrillation below."""
BAZETT = (60, 100)
"""Beats per minute within which QTc is Bazett's; beyond, his formula leans, and Fridericia's is told."""
Reason = Literal["few_beats", "few_alike", "no_p", "unseen", "unsteady", "swapped_arms"]
"""Too few beats; too few that look alike; what stands before them isn't a P wave; an end can't be seen; all
beats and every other one disagree; an axis of swapped arms, which change no interval."""


class Measurements(NamedTuple):
    """Beats per minute, milliseconds and degrees (−180 to 180); None where the tracing doesn't tell."""

    rate: float | None = None
    p: float | None = None
    pr: float | None = None
    qrs: float | None = None
    qt: float | None = None
    axis: float | None = None
    reasons: Mapping[str, Reason] = {}
    """Why an interval is None, by its name."""

    def qtc(self, formula: str | None = None) -> float | None:
        """QT at 60/min by `bazett`, `fridericia` or `framingham`; by rate where none is named (`BAZETT`)."""
        if self.qt is None or not self.rate:
            return None
        rr = 60 / self.rate
        by_formula = {
            "bazett": self.qt / math.sqrt(rr),
            "fridericia": self.qt / math.cbrt(rr),
            "framingham": self.qt + 154 * (1 - rr),
        }
        return by_formula[formula or self.qtc_formula]

    @property
    def qtc_formula(self) -> str:
        """The formula that goes with the rate."""
        return "bazett" if self.rate and BAZETT[0] <= self.rate <= BAZETT[1] else "fridericia"


def measure(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]) -> Measurements:
    """Measure a record in mV, whatever leads it has; the axis needs I and aVF."""
    x_KL = resample(np.nan_to_num(np.asarray(x_KL, np.float32)), fs, FS)
    order = limb_leads_first(leads)
    return measure_beats(beats(x_KL, order), [leads[row] for row in order])


def measure_beats(aligned: AlignedBeats, leads: Sequence[str]) -> Measurements:
    """The same of beats that are aligned already; `leads` are their rows."""
    names = [name.strip().lower() for name in leads]
    if len(aligned.peaks_N) < LEAST_BEATS:
        return Measurements(reasons=dict.fromkeys(AGREE_MS, "few_beats"))
    rate = 60 / aligned.rr
    windows_NKB = aligned.windows()
    swapped = arms_swapped(median_beat(windows_NKB), names)
    doubts: dict[str, Reason] = {"axis": "swapped_arms"} if swapped else {}
    axis = None if swapped else _axis(windows_NKB, names)
    if len(windows_NKB) < LEAST_BEATS:
        return Measurements(rate, axis=axis, reasons=doubts | dict.fromkeys(AGREE_MS, "few_alike"))
    values, reasons = _intervals(windows_NKB, aligned.rr)
    return Measurements(rate, axis=axis, reasons=doubts | reasons, **values)


def _intervals(windows_NKB: Floats, rr: float) -> tuple[dict[str, float], dict[str, Reason]]:
    """Of all beats and of every other one: the median of the three, where two of them agree."""
    parts = (windows_NKB, windows_NKB[::2], windows_NKB[1::2])
    ends = [delineate(median_beat(part_NKB), rr) for part_NKB in parts]
    lengths = [_lengths(each) for each in ends]
    p_returns = _p_returns(windows_NKB, ends[0])
    values: dict[str, float] = {}
    reasons: dict[str, Reason] = {}
    for name, (low, high) in PLAUSIBLE_MS.items():
        three = sorted(length for each in lengths if math.isfinite(length := each[name]))
        middle = float(np.median(three)) if three else math.nan
        if name in ("p", "pr") and not p_returns:
            reasons[name] = "no_p"
        elif not low <= middle <= high:
            reasons[name] = "unseen"
        elif not min(np.diff(three), default=math.inf) <= AGREE_MS[name]:
            reasons[name] = "unsteady"
        else:
            values[name] = middle
    return values, reasons


def _lengths(ends: Boundaries) -> dict[str, float]:
    """Milliseconds; NaN where a wave wasn't found."""
    samples = {
        "p": ends.p_off - ends.p_on,
        "pr": ends.qrs_on - ends.p_on,
        "qrs": ends.qrs_off - ends.qrs_on,
        "qt": ends.t_off - ends.qrs_on,
    }
    return {name: 1000 / FS * length for name, length in samples.items()}


def _p_returns(windows_NKB: Floats, ends: Boundaries) -> bool:
    """Whether what stands where the P wave was found is the same before each beat."""
    if not math.isfinite(ends.p_on):
        return False
    begin, end = max(0, BEFORE + int(ends.p_on) - 10), BEFORE + int(ends.qrs_on) - 4
    whole_NKB = windows_NKB[np.isfinite(windows_NKB[:, :, :BEFORE]).all((1, 2))]
    if len(whole_NKB) < LEAST_BEATS:
        return False
    x_NKB = low_pass(np.nan_to_num(whole_NKB), P_HZ)[:, :, begin:end]
    x_NKB -= x_NKB.mean(2, keepdims=True)
    alike = []
    for beat in range(len(x_NKB)):
        others_KB = np.median(np.delete(x_NKB, beat, axis=0), axis=0)
        length = np.linalg.norm(x_NKB[beat]) * np.linalg.norm(others_KB)
        alike.append((x_NKB[beat] * others_KB).sum() / max(length, np.finfo(float).tiny))
    return bool(np.median(alike) >= P_RETURNS)


def _axis(windows_NKB: Floats, names: Sequence[str]) -> float | None:
    """The frontal axis: the direction of the net QRS area in I and aVF, whose units differ by 2/√3."""
    if not {"i", "avf"} <= set(names):
        return None
    half = round(0.05 * FS)
    complex_KB = median_beat(windows_NKB)[:, BEFORE - 2 * half : BEFORE + half]
    area_K = (complex_KB[:, half:] - np.median(complex_KB[:, :half], axis=1, keepdims=True)).sum(1)
    i, avf = area_K[names.index("i")], area_K[names.index("avf")]
    return math.degrees(math.atan2(2 / math.sqrt(3) * avf, i))
