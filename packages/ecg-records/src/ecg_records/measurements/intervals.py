"""Measure rate, P, PR, QRS, QT, QTc and axis over all leads, as an electrocardiograph does.

A value that can't be trusted is None, and `reasons` holds the reason. For example, two detectors disagree
about the rate (`rate.py`), too few beats are similar, or no P wave precedes every beat.

Shapes: K leads, L samples, N beats, B samples of a beat.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements.atrial import AtrialReason, pr_doubt
from ecg_records.measurements.delineation import P_HZ, Boundaries, deciding_lead, delineate, qrs_shifts
from ecg_records.measurements.median_beat import (
    BEFORE,
    FS,
    AlignedBeats,
    Floats,
    beats,
    come_early,
    low_pass,
    median_beat,
)
from ecg_records.measurements.pacing import goes_before, spike_samples
from ecg_records.measurements.rate import (
    LEAST_BEATS,
    RateReason,
    beats_per_minute,
    mean_rate,
    rate_doubt,
)
from ecg_records.measurements.t_end import TReason, believed_qt
from ecg_records.signal.hum import without_hum
from ecg_records.signal.samples import resample

AGREE_MS, AGREE_DEGREES = {"p": 40, "pr": 30, "qrs": 20, "qt": 40}, 30
"""Maximum difference between two measurements of the same value in a record. If noise causes a larger
difference, the value is dropped."""
PLAUSIBLE_MS = {"p": (40, 240), "pr": (70, 450), "qrs": (50, 240), "qt": (200, 700)}
P_RETURNS = 0.75
"""Minimum median correlation between the signals before the QRS complexes. A lower correlation means that
there are no P waves.

In PTB-XL, 98 % of the records in sinus rhythm are above this limit, and 97 % of the records in atrial
fibrillation are below.
"""
T_AFTER = round(0.04 * FS)
"""Number of samples after the end of QRS from which the axis of T is measured."""
QT_OF_RR = 0.8
"""Maximum QT as a share of the mean RR interval. A later "end of T" is a U wave, a P wave or fibrillation."""
PR_OF_RR = 0.7
"""Maximum PR as a share of the RR interval. An earlier "P wave" belongs to the previous beat."""
IRREGULAR = 0.08
"""Maximum median difference between successive RR intervals in a regular rhythm, as a share of the median RR
interval."""
P_ROOM_S = 0.3
"""Minimum time between the end of T and the next QRS complex. With less time, a P wave may start on T."""
COMPLEX, P_WAVE = slice(BEFORE - 30, BEFORE + 40), slice(BEFORE - 100, BEFORE - 15)
OPPOSITE_QRS, OPPOSITE_P = -0.5, -0.3
"""Maximum correlations of lead I with V6 if the arm electrodes are swapped, for QRS and P.

The limits were chosen on 300 normal records of PTB-XL. On 905 further records they flag none of
the original recordings, and 96 % of the same recordings with swapped arm leads.
"""
PReason = Literal["no_p", "irregular_no_p", "p_on_t"]
Reason = Literal[
    RateReason, PReason, AtrialReason, TReason, "unseen", "unsteady", "two_shapes", "no_spike", "swapped_arms"
]
"""Reason why a value is None. `rate.RateReason` explains the reasons that concern the rate.

- `no_p`: the rhythm is regular, but no P wave precedes every beat.
- `irregular_no_p`: the rhythm is irregular and no P wave precedes every beat, as in atrial fibrillation.
- `p_on_t`: the P wave lies on the previous T wave.
- `flutter`: atrial waves repeat as fast as flutter waves.
- `fast_wide`: the rhythm is fast with wide QRS complexes.
- `flat_t`: the T wave is too flat to measure.
- `ends_apart`: two methods disagree about the end of T (`t_end.py`).
- `unseen`: the start or end of the wave isn't visible.
- `unsteady`: different beats of the record give different values.
- `two_shapes`: beats have two shapes that are about equally frequent and give different values.
- `no_spike`: the record is coded as paced but has no pacemaker spike. Only the record page uses this reason.
- `swapped_arms`: the arm electrodes are swapped. The axis is None, and intervals are not affected.
"""


class Measurements(NamedTuple):
    """Measurements of a record. Unmeasurable values are None.

    Attributes:
        rate: heart rate per minute, from `mean_rate`. `measure_beats` returns the median rate instead.
        p, pr, qrs, qt: intervals in ms. `p` is the duration of the P wave.
        axis, p_axis, t_axis: frontal axes of QRS, P and T in degrees, −180 to 180.
        paced: whether spikes of a pacemaker precede at least half of the beats. QRS then starts after the
            spike.
        reasons: reasons for values that are None, by the name of the value.
        usual_rate: median rate per minute. Unlike `rate`, it ignores a pause or a short run of fast beats.
            None from `measure_beats`.
        longest_cycle: longest RR interval in ms. None from `measure_beats`.
    """

    rate: float | None = None
    p: float | None = None
    pr: float | None = None
    qrs: float | None = None
    qt: float | None = None
    axis: float | None = None
    p_axis: float | None = None
    t_axis: float | None = None
    paced: bool = False
    reasons: Mapping[str, Reason] = {}
    usual_rate: float | None = None
    longest_cycle: float | None = None

    def qtc(self, formula: str = "fridericia") -> float | None:
        """Return QT corrected to a rate of 60/min.

        Args:
            formula: `fridericia`, `framingham` or `bazett`. Bazett's QTc is too long at fast rates.
        """
        if self.qt is None or not self.rate:
            return None
        rr = 60 / self.rate
        by_formula = {
            "bazett": self.qt / math.sqrt(rr),
            "fridericia": self.qt / math.cbrt(rr),
            "framingham": self.qt + 154 * (1 - rr),
        }
        return by_formula[formula]


def measure(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]) -> Measurements:
    """Measure a record in mV with any leads. The axis needs leads I and aVF."""
    return measure_aligned(*aligned_beats(x_KL, fs, leads))


def aligned_beats(
    x_KL: NDArray[np.floating], fs: float, leads: Sequence[str]
) -> tuple[AlignedBeats, list[str]]:
    """Subtract mains hum from a record in mV, and align its beats.

    Returns:
        The beats, and the lead names in the order of the rows of `AlignedBeats.x_KL`.
    """
    x_KL = resample(np.nan_to_num(np.asarray(x_KL, np.float32), posinf=0, neginf=0), fs, FS)
    order = sorted(range(len(leads)), key=lambda row: (leads[row].strip().lower() not in ("i", "ii"), row))
    aligned = beats(without_hum(x_KL.astype(np.float64), FS), order)
    return aligned, [leads[row] for row in order]


def measure_aligned(aligned: AlignedBeats, leads: Sequence[str]) -> Measurements:
    """Measure aligned beats, and drop every value that a second method contradicts.

    If a single lead makes QRS much longer, it may be noisy and is used only for the axis. V1 is an exception:
    in a right bundle branch block, it may be the only lead in which the late part of QRS (R') is steep.
    """
    loose = deciding_lead(aligned.median_KB) if aligned.alike_N.sum() >= LEAST_BEATS else None
    if loose is not None and leads[loose].strip().lower() != "v1":
        remaining = replace(aligned, x_KL=np.delete(aligned.x_KL, loose, axis=0))
        names = [name for row, name in enumerate(leads) if row != loose]
        measured = _measure_and_doubt(remaining, names)
        if measured.rate is None or "axis" in measured.reasons:
            return measured
        return measured._replace(axis=_qrs_axis(aligned.median_KB, [name.strip().lower() for name in leads]))
    return _measure_and_doubt(aligned, leads)


def _measure_and_doubt(aligned: AlignedBeats, leads: Sequence[str]) -> Measurements:
    ends = delineate(aligned.median_KB, aligned.rr) if len(aligned.peaks_N) >= LEAST_BEATS else None
    measured = measure_beats(aligned, leads, ends)
    if ends is None:
        return measured
    later, earlier = qrs_shifts(aligned.median_KB)
    for name, longer in (("pr", later), ("qrs", -later - earlier), ("qt", -later)):
        if (value := getattr(measured, name)) is not None:
            measured = measured._replace(**{name: value + 1000 / FS * longer})
    ends = ends._replace(qrs_on=ends.qrs_on + later, qrs_off=ends.qrs_off - earlier)
    return _doubted(measured, aligned, ends)


def _doubted(measured: Measurements, aligned: AlignedBeats, ends: Boundaries) -> Measurements:
    """Drop every value that a second method contradicts, and replace the median rate by the mean rate."""
    if measured.rate is not None:
        rate = mean_rate(aligned)
        measured = measured._replace(
            rate=rate,
            usual_rate=measured.rate,
            longest_cycle=1000 / FS * float(np.diff(aligned.found_N).max()),
        )
        has_p = measured.p is not None or measured.pr is not None
        doubt: Reason | None = pr_doubt(rate, measured.qrs, aligned, ends) if has_p else None
        if doubt is None and measured.p is None and measured.pr is not None:
            doubt = measured.reasons["p"]
        if doubt is not None:
            no_p: dict[str, Reason] = {**measured.reasons, "p": doubt, "pr": doubt}
            measured = measured._replace(p=None, pr=None, p_axis=None, reasons=no_p)
    if measured.qt is not None and measured.rate is not None:
        qt = believed_qt(measured.qt, measured.rate, aligned, ends)
        if isinstance(qt, str):
            reasons: dict[str, Reason] = {**measured.reasons, "qt": qt}
            return measured._replace(qt=None, t_axis=None, reasons=reasons)
        measured = measured._replace(qt=qt)
    return measured


def measure_beats(
    aligned: AlignedBeats, leads: Sequence[str], boundaries: Boundaries | None = None
) -> Measurements:
    """Measure intervals and axes of aligned beats, without a check by a second method.

    The features in `measured.py` use these unchecked values, because existing classifiers were fitted on
    them.

    Args:
        aligned: the beats.
        leads: lead names, in the order of the rows of `aligned.x_KL`.
        boundaries: boundaries of the median beat. If None, `delineate` finds them.
    """
    names = [name.strip().lower() for name in leads]
    doubt = "few_beats" if len(aligned.peaks_N) < LEAST_BEATS else rate_doubt(aligned)
    if doubt is not None:
        return Measurements(reasons=dict.fromkeys(("rate", *AGREE_MS, "axis"), doubt))
    rate = beats_per_minute(aligned.found_N, FS)
    beat_KB = aligned.median_KB
    paced = goes_before(spike_samples(aligned.x_KL, FS), aligned.found_N, FS)
    if len(aligned.windows_NKB) < LEAST_BEATS:
        few_alike: dict[str, Reason] = dict.fromkeys(AGREE_MS, "few_alike")
        return Measurements(rate, axis=_qrs_axis(beat_KB, names), paced=paced, reasons=few_alike)
    ends = boundaries or delineate(beat_KB, aligned.rr)
    values, reasons = _intervals(ends, aligned, 60 / rate)
    axis = _qrs_axis(beat_KB, names)
    if "p" in values and not paced and _arms_swapped(beat_KB, names):
        axis, reasons["axis"] = None, "swapped_arms"
    for name in _apart(aligned, names, values, axis) if aligned.others_N.any() else ():
        axis, reasons[name] = None if name == "axis" else axis, "two_shapes"
        values.pop(name, None)
    return Measurements(
        rate,
        axis=axis,
        p_axis=_axis(beat_KB, names, ends.p_on, ends.p_off) if "p" in values else None,
        t_axis=_axis(beat_KB, names, ends.qrs_off + T_AFTER, ends.t_off) if "qt" in values else None,
        paced=paced,
        reasons=reasons,
        **values,
    )


def _apart(
    aligned: AlignedBeats, leads: Sequence[str], values: Mapping[str, float], axis: float | None
) -> list[str]:
    """Return the names of the values that differ between beats of the dominant and of the second shape.

    The result is empty if beats of the second shape are ectopic, that is, early and wide.
    """
    other_KB = median_beat(aligned.windows(aligned.others_N))
    lengths, other_axis = _lengths(delineate(other_KB, aligned.rr)), _qrs_axis(other_KB, leads)
    if come_early(aligned.peaks_N, aligned.others_N) and values.get("qrs", 0) <= lengths["qrs"]:
        return []
    turn = 0 if axis is None or other_axis is None else abs((axis - other_axis + 180) % 360 - 180)
    apart = [name for name, value in values.items() if not abs(value - lengths[name]) <= AGREE_MS[name]]
    return [*apart, *(["axis"] if turn > AGREE_DEGREES else [])]


def _intervals(
    ends: Boundaries, aligned: AlignedBeats, cycle: float
) -> tuple[dict[str, float], dict[str, Reason]]:
    """Return the measured intervals, and reasons for the missing intervals.

    Each interval is measured three times: on all beats, on the even beats and on the odd beats. The result is
    the median if two of the three measurements agree.
    """
    windows_NKB = aligned.windows_NKB
    halves = [delineate(median_beat(windows_NKB[first::2]), aligned.rr) for first in (0, 1)]
    lengths = [_lengths(boundaries) for boundaries in (ends, *halves)]
    p_seen = ends.qrs_on - ends.p_on <= PR_OF_RR * aligned.rr * FS and _p_returns(windows_NKB, ends)
    p_missing = None if p_seen else _p_missing(ends, aligned)
    longest = {"qt": QT_OF_RR * 1000 * cycle}
    values: dict[str, float] = {}
    reasons: dict[str, Reason] = {}
    for name, (low, high) in PLAUSIBLE_MS.items():
        three = sorted(length for part in lengths if math.isfinite(length := part[name]))
        middle = float(np.median(three)) if three else math.nan
        if name in ("p", "pr") and p_missing is not None:
            reasons[name] = p_missing
        elif not low <= middle <= min(high, longest.get(name, high)) or (
            name == "pr" and reasons.get("p") == "unseen"
        ):
            reasons[name] = "unseen"
        elif not min(np.diff(three), default=math.inf) <= AGREE_MS[name]:
            reasons[name] = "unsteady"
        else:
            values[name] = middle
    return values, reasons


def _p_missing(ends: Boundaries, aligned: AlignedBeats) -> Reason:
    """Return the reason why no P wave precedes every beat."""
    rr = np.diff(aligned.found_N)
    if np.median(abs(np.diff(rr))) > IRREGULAR * np.median(rr):
        return "irregular_no_p"
    room = aligned.rr * FS + ends.qrs_on - ends.t_off
    return "no_p" if room >= P_ROOM_S * FS else "p_on_t"


def _lengths(ends: Boundaries) -> dict[str, float]:
    """Return the intervals in ms, NaN if a boundary is unknown."""
    samples = {
        "p": ends.p_off - ends.p_on,
        "pr": ends.qrs_on - ends.p_on,
        "qrs": ends.qrs_off - ends.qrs_on,
        "qt": ends.t_off - ends.qrs_on,
    }
    return {name: 1000 / FS * length for name, length in samples.items()}


def _p_returns(windows_NKB: Floats, ends: Boundaries) -> bool:
    """Return whether the signal at the position of the P wave is similar in all beats."""
    if not math.isfinite(ends.p_on):
        return False
    begin, end = max(0, BEFORE + int(ends.p_on) - 10), BEFORE + int(ends.qrs_on) - 4
    complete_NKB = windows_NKB[np.isfinite(windows_NKB[:, :, :BEFORE]).all((1, 2))]
    if len(complete_NKB) < LEAST_BEATS:
        return False
    x_NKB = low_pass(np.nan_to_num(complete_NKB), P_HZ)[:, :, begin:end]
    x_NKB -= x_NKB.mean(2, keepdims=True)
    pairs = zip(x_NKB, _medians_of_others(x_NKB), strict=True)
    return bool(
        np.median([_correlation(x_KB.ravel(), others_KB.ravel()) for x_KB, others_KB in pairs]) >= P_RETURNS
    )


def _medians_of_others(x_NKB: Floats) -> Floats:
    """Return the median over all other beats for each beat, [N, K, B]. The beats are sorted only once."""
    sorted_NKB, n_others = np.sort(x_NKB, axis=0), len(x_NKB) - 1
    # These are the ranks of the median if the beat itself is left out of the sorted values. If the beat is
    # at or below such a rank, the values above it move down by one, so the next rank is used.
    ranks = (n_others - 1) // 2, n_others // 2
    low, high = (
        np.where(x_NKB <= sorted_NKB[rank], sorted_NKB[rank + 1], sorted_NKB[rank]) for rank in ranks
    )
    return np.asarray((low + high) / 2)


def _qrs_axis(beat_KB: Floats, names: Sequence[str]) -> float | None:
    """Return the frontal axis of QRS, from its net area relative to the level before QRS."""
    half = round(0.05 * FS)
    complex_KB = beat_KB[:, BEFORE - 2 * half : BEFORE + half]
    return _direction(complex_KB[:, half:] - np.median(complex_KB[:, :half], axis=1, keepdims=True), names)


def _axis(beat_KB: Floats, names: Sequence[str], begin: float, end: float) -> float | None:
    """Return the frontal axis of a wave, from its net area relative to the line between its ends."""
    if not (math.isfinite(begin) and math.isfinite(end) and end - begin >= 2):
        return None
    wave_KB = beat_KB[:, max(0, BEFORE + round(begin)) : BEFORE + round(end) + 1]
    line_KB = np.linspace(wave_KB[:, 0], wave_KB[:, -1], wave_KB.shape[1], axis=1)
    return _direction(wave_KB - line_KB, names)


def _direction(wave_KB: Floats, names: Sequence[str]) -> float | None:
    """Return the angle of a wave's area in degrees, or None if lead I or aVF is missing or zero.

    aVF is multiplied by 2/√3, because augmented leads have a smaller unit than lead I.
    """
    if not {"i", "avf"} <= set(names) or not wave_KB[[names.index("i"), names.index("avf")]].any(1).all():
        return None
    area_K = wave_KB.sum(1)
    i, avf = area_K[names.index("i")], area_K[names.index("avf")]
    return math.degrees(math.atan2(2 / math.sqrt(3) * avf, i))


def _arms_swapped(beat_KB: NDArray[np.float64], names: Sequence[str]) -> bool:
    """Return whether P and QRS of lead I are inverted relative to V6. `names` are in lower case."""
    if not {"i", "v6"} <= set(names):
        return False
    pair_KB = beat_KB[[names.index("i"), names.index("v6")]]
    pair_KB -= np.median(pair_KB[:, BEFORE - 120 : BEFORE + 220], axis=1, keepdims=True)
    qrs, p = (_correlation(*pair_KB[:, part]) for part in (COMPLEX, P_WAVE))
    return qrs < OPPOSITE_QRS and p < OPPOSITE_P


def _correlation(a_B: NDArray[np.float64], b_B: NDArray[np.float64]) -> float:
    length = np.linalg.norm(a_B) * np.linalg.norm(b_B)
    return float(a_B @ b_B / max(length, np.finfo(float).tiny))
