"""Check the end of the T wave by two further methods: on single beats, and in each lead of the median beat.

The end of T on the median beat (`delineation.py`) is accepted if the other methods find similar ends. In a
single lead, T ends at the sample that maximises the area between the descent of T and a later level. This
method needs no threshold (Vázquez-Seisdedos et al. 2011, doi:10.1186/1475-925X-10-77).

Shapes: K leads, L samples at 500 Hz, N beats, B samples of a beat, T samples that may hold the top of T.
"""

import math
from typing import Literal

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ecg_records.measurements.delineation import (
    SHORTEST,
    T_EXPECTED,
    T_HZ,
    T_LATEST,
    T_OF_RR,
    T_WIDTH,
    Boundaries,
    t_end,
    velocity,
)
from ecg_records.measurements.median_beat import AFTER, BEFORE, FS, AlignedBeats, Floats, low_pass

LEAD_HZ = 20
BEHIND_QRS, FALL, LEVEL = 30, 75, 90
"""Samples from the end of QRS to the first possible top of T, from the top to the latest steepest descent,
and from the descent to the level."""
TOP_EARLIER_S = 0.05
"""Time in s from the top of T to its steepest descent."""
OUTWARD = 2
"""Samples by which cardiologists mark the end of T later than the sample with the largest area."""
LEAST_MV, OVER_NOISE = 0.03, 5
"""Minimum height of a visible T wave, in mV and in standard errors of the median beat."""
NEAR_MS = 40
"""Maximum difference between the ends by different methods."""
LEADS_NEAR = 0.5
"""Minimum share of leads with a similar end of T, among the leads with a visible T wave."""
LONG_MS, NEARER_MS = 500, 20
"""Minimum of a long QTc (Fridericia), and maximum difference between median beat and single beats if QTc is
long.

A true QTc of this length is rare. A false QTc of this length often ends on a P, U or fibrillation wave, whose
time varies between beats.
"""
TReason = Literal["flat_t", "ends_apart"]


def believed_qt(qt: float, rate: float, aligned: AlignedBeats, ends: Boundaries) -> float | TReason:
    """Return the median QT of three methods in ms, or the reason to reject QT.

    Args:
        qt: QT in ms, measured on the median beat.
        rate: heart rate in beats per minute.
        aligned: the beats.
        ends: boundaries of the median beat.
    """
    lead_ends_K = 1000 / FS * (_of_each_lead(aligned, ends) - ends.qrs_on)
    seen_K = np.isfinite(lead_ends_K)
    if not seen_K.any():
        return "flat_t"
    single = 1000 / FS * (_of_single_beats(aligned, ends) - ends.qrs_on)
    near_K = abs(lead_ends_K[seen_K] - qt) <= NEAR_MS
    if not abs(single - qt) <= NEAR_MS or near_K.mean() < LEADS_NEAR:
        return "ends_apart"
    middle = float(np.median([qt, single, np.median(lead_ends_K[seen_K][near_K])]))
    too_long = middle / math.cbrt(60 / rate) >= LONG_MS and abs(single - qt) > NEARER_MS
    return "ends_apart" if too_long else middle


def _of_single_beats(aligned: AlignedBeats, ends: Boundaries) -> float:
    """Return the median of the ends of T in single beats, in samples from R, or NaN with too few beats."""
    velocity_L = gaussian_filter1d(velocity(aligned.x_KL, T_HZ), 4)
    padded_L = np.pad(velocity_L, (BEFORE, AFTER))
    beats = zip(aligned.peaks_N[aligned.alike_N], aligned.next_N[aligned.alike_N], strict=True)
    found = []
    for peak, following in beats:
        seen = min(int(min(following, len(velocity_L)) - peak) + BEFORE, BEFORE + AFTER - 1)
        window_B = padded_L[peak : peak + BEFORE + AFTER]
        found.append(t_end(window_B, ends.qrs_off, aligned.rr, seen))
    known = [end for end in found if math.isfinite(end)]
    return float(np.median(known)) if len(known) >= max(2, len(found) / 2) else math.nan


def _of_each_lead(aligned: AlignedBeats, ends: Boundaries) -> Floats:
    """Return each lead's end of T on the median beat in samples from R, or NaN if T isn't visible."""
    rr, beat_KB, windows_NKB = aligned.rr, aligned.median_KB, aligned.windows_NKB
    found_K = np.full(len(beat_KB), np.nan)
    first = BEFORE + int(ends.qrs_off) + BEHIND_QRS
    end = min(BEFORE + AFTER - 10, BEFORE + int(min(T_OF_RR * rr, T_LATEST * math.sqrt(rr)) * FS))
    if end - first < SHORTEST:
        return found_K
    next_wave = ends.p_on if math.isfinite(ends.p_on) else ends.qrs_on - 20
    last = min(BEFORE + int(rr * FS + next_wave), beat_KB.shape[1] - 1)
    slow_KB = low_pass(beat_KB, LEAD_HZ)
    spread_KT = np.median(abs(np.nan_to_num(windows_NKB[:, :, first:end] - beat_KB[:, first:end])), axis=0)
    error_K = 1.25 * 1.48 * np.median(spread_KT, axis=1) / math.sqrt(len(windows_NKB))
    seconds_T = (np.arange(first, end) - BEFORE) / FS
    middle = (T_EXPECTED - TOP_EARLIER_S) * math.sqrt(rr)
    likely_T = np.exp(-(((seconds_T - middle) / T_WIDTH) ** 2) / 2)
    for lead, slow_B in enumerate(slow_KB):
        away_T = slow_B[first:end] - np.linspace(slow_B[first - 10], slow_B[end], end - first)
        highest = int(np.argmax(abs(away_T) * likely_T))
        top, upright_B = first + highest, np.sign(away_T[highest]) * slow_B
        if last - top < SHORTEST:
            continue
        steepest = top + int(np.argmin(np.diff(upright_B[top : min(top + FALL, last)])))
        level = min(steepest + LEVEL, last)
        behind_n = np.arange(steepest, level)
        areas_n = (upright_B[steepest] - upright_B[behind_n]) * (2 * level - behind_n - steepest)
        off = steepest + int(np.argmax(areas_n)) if level > steepest else steepest
        if upright_B[top] - upright_B[off] >= max(LEAST_MV, OVER_NOISE * error_K[lead]):
            found_K[lead] = off + OUTWARD - BEFORE
    return found_K
