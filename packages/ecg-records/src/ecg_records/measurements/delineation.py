"""Delineate a beat: find the onsets and ends of P, QRS and T over all leads at once.

The boundaries are found in the spatial velocity, the length of the vector of slopes over all leads (van
Bemmel, Kors & van Herpen 1990, Methods Inf Med 29:346). A wave starts where its velocity rises above a share
of its maximum, and ends where the velocity falls below a share of the maximum. So a wave spans the earliest
onset and the latest end over all leads, as in an electrocardiograph. The constants were chosen on the odd
records of LUDB (the Lobachevsky University database, annotated by cardiologists) and on the report statements
of PTB-XL, see docs/evaluation/delineation.md.

A lobe is a peak of the velocity. A QRS complex usually has several lobes.

Shapes: K leads, B samples of a beat at 500 Hz, N beats.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, uniform_filter1d

from ecg_records.measurements.median_beat import BEFORE, FS, Floats, low_pass
from ecg_records.measurements.pacing import spike_samples, without_spikes

QRS_HZ, P_HZ, T_HZ, P_END_HZ = 40, 25, 12, 35
"""Cut-off of the low-pass filter before the velocity of each wave. The cut-off for T is low, because T is
slow and the noise that hides its end is fast."""
QRS_SHARES = (0.05, 0.08, 0.12)
"""Shares of the peak velocity. A QRS boundary is the mean over the shares, because a single share may end at
a notch."""
QRS_OUTWARD = 5.0
"""Samples by which cardiologists mark the ends of QRS further outwards than `QRS_SHARES` does."""
P_SHARE, P_END_SHARE, T_SHARE = 0.22, 0.3, 0.15
DECIDING_OF, DECIDES = 6, 15
"""Minimum number of leads for `deciding_lead`, and number of samples by which the deciding lead lengthens
QRS."""
LOBE = 0.08
"""Minimum velocity of the outermost lobe of QRS, as a share of the peak velocity."""
FOOT = 2
"""At a sharp edge, maximum number of samples of QRS after the velocity has fallen to a tenth of the outermost
lobe."""
SHARP_RISE = 5.6, 6.2
"""Samples in which the velocity rises from a tenth to half of the outermost lobe: maximum at a sharp edge,
minimum at a gradual edge."""
SHARP_BEND, BEND_PER_SAMPLE, SHORT_RISE, UNSURE = 0.75, 0.11, 3.4, 0.03
"""Minimum bend of a sharp edge.

The bend is the number of samples from half to nine tenths of the lobe, divided by the rise (the number of
samples from a tenth to half). The minimum is `SHARP_BEND` for a rise of up to `SHORT_RISE` samples, and grows
by `BEND_PER_SAMPLE` for each further sample. An edge within `UNSURE` of the minimum is corrected in part. One
of LUDB's 100 odd records has two sharp edges.
"""
SHARP_LOBE = 0.4, 0.6
"""Velocity of the outermost lobe as a share of the peak velocity: maximum at a slurred edge, minimum at a
sharp edge.

The last part of QRS in a bundle branch block is slurred. Its lobe is low, even if its end is steep.
"""
SHARP_INWARD, RISE_OUTWARD = 9.3, 1.63
"""Distance of a sharp edge from the sample at which the velocity is a tenth of the lobe: `SHARP_INWARD`
samples inwards, less `RISE_OUTWARD` samples per sample of rise.

The correction is needed because filters blur a sharp edge. The values were fitted on synthetic waves of 60 to
160 ms.
"""
ST_APART, ST_LATEST = 20, 65
"""An end of QRS lies on ST if it is more than `ST_APART` samples after the end at the highest share, and more
than `ST_LATEST` samples after R.

In a left bundle branch block, ST may have a higher velocity than the low shares of the peak velocity. Late
slurred waves of a right bundle branch block end earlier.
"""
BRIDGE = 8
"""Maximum number of samples with low velocity within a QRS complex, for example between R and a late R'."""
QRS_REACH = (80, 100)
"""Maximum extent of a QRS complex in samples, before and after the R-peak."""
SPIKE_WIDTH = 3
"""Width of a pacemaker spike in samples. QRS starts after the spike."""
T_EXPECTED, T_WIDTH = 0.33, 0.1
"""Expected time in s from R to the descent of T at 60/min, and its spread. The time grows with the root of
RR."""
T_LATEST, T_OF_RR = 0.62, 0.6
"""Latest descent of T after R: in s at 60/min, and as a share of RR. A later descent belongs to the next P
wave."""
T_LOBE, P_LOBE = 0.45, 0.5
"""Minimum velocity of a second lobe of the same biphasic or notched wave, as a share of the first lobe's
velocity."""
T_REST, T_SEEN = 5, 10
"""Number of samples with low velocity that separate T from a following P or U wave, and number of samples
that the record must have after the end of T."""
P_EXPECTED, P_WIDTH, P_EARLIEST = 0.12, 0.15, 0.4
"""Seconds before QRS: expected middle of P, spread of the middle, and earliest start."""
TOUCHING = 3
"""If T and P are at most this number of samples apart, the onset of P is invisible."""
SHORTEST = 25
"""Minimum number of samples in which a wave is searched."""


class Boundaries(NamedTuple):
    """Onsets and ends of the waves in samples from the R-peak, NaN if unknown."""

    p_on: float
    p_off: float
    qrs_on: float
    qrs_off: float
    t_off: float


def delineate(beat_KB: Floats, rr: float) -> Boundaries:
    """Return the boundaries of a beat's waves.

    Args:
        beat_KB: beat in mV with its R-peak at sample `BEFORE`.
        rr: usual RR interval in s.
    """
    beat_KB = np.nan_to_num(beat_KB)
    spikes = spike_samples(beat_KB, FS) - BEFORE
    beat_KB = without_spikes(beat_KB, FS)
    on, off = _qrs(velocity(beat_KB, QRS_HZ))
    before_qrs = spikes[(spikes >= -QRS_REACH[0]) & (spikes < 0)]
    on = max(on, float(before_qrs.max(initial=-BEFORE)) + SPIKE_WIDTH)  # the ventricles follow the spike
    seen = 1 + int(np.flatnonzero(np.diff(beat_KB).any(0)).max(initial=0))  # the padding is constant
    t_off = t_end(gaussian_filter1d(velocity(beat_KB, T_HZ), 4), off, rr, seen)
    before = BEFORE + int(np.nan_to_num(t_off, nan=-BEFORE) - rr * FS) + 10
    slow_B = gaussian_filter1d(velocity(beat_KB, P_HZ), 3)
    fast_B = gaussian_filter1d(velocity(beat_KB, P_END_HZ), 3)
    p_on, p_off = _p(slow_B, fast_B, BEFORE + round(on), before)
    return Boundaries(p_on, p_off, on, off, t_off)


def deciding_lead(beat_KB: Floats) -> int | None:
    """Return the row of the lead without which QRS would be much shorter, or None."""
    if len(beat_KB) < DECIDING_OF:
        return None
    flat_KB = without_spikes(np.nan_to_num(beat_KB), FS)
    squared_KB = (np.gradient(low_pass(flat_KB, QRS_HZ), axis=1) * FS) ** 2
    on, off = _qrs(np.sqrt(squared_KB.sum(0)))
    rests = squared_KB.sum(0) - squared_KB
    ends = [_qrs(np.sqrt(np.maximum(rest_B, 0))) for rest_B in rests]
    shorter_K = np.array([off - on - (last - first) for first, last in ends])
    row = int(np.argmax(shorter_K))
    return row if shorter_K[row] > DECIDES else None


def velocity(beat_KB: Floats, hertz: float) -> Floats:
    """Return the spatial velocity in mV/s, after a low-pass filter at `hertz`."""
    slope_KB = np.gradient(low_pass(beat_KB, hertz), axis=1)
    return np.asarray(np.sqrt((slope_KB**2).sum(0)) * FS)


def qrs_shifts(beat_KB: Floats) -> tuple[float, float]:
    """Return by how many samples the onset of QRS from `delineate` is too early, and its end too late.

    At most one of two corrections is made. If neither is needed, the result is (0, 0).

    - Steep ST: the end from `delineate` is the mean of three ends, at which the velocity falls below the
      three `QRS_SHARES` of its peak. On a steep ST segment, the velocity falls below the lower shares too
      late. Such ends are left out of the mean.
    - Sharp edges: `delineate` places onset and end outside the visible slope, as cardiologists do for a
      gradual QRS complex. If both edges are sharp and the beat has no pacemaker spikes, the corrected
      onset and end lie at the edges. If an edge is only just sharp, the correction is smaller.
    """
    beat_KB = np.nan_to_num(beat_KB)
    velocity_B = velocity(without_spikes(beat_KB, FS), QRS_HZ)
    on, off = _qrs(velocity_B)
    ends = _crossings(velocity_B, 1)
    before_st = ends[(ends - ends[-1] <= ST_APART) | (ends - BEFORE <= ST_LATEST)]
    if len(before_st) < len(ends):
        return 0.0, float(np.mean(ends) - np.mean(before_st))
    if len(spike_samples(beat_KB, FS)):
        return 0.0, 0.0
    first, last = _edge(velocity_B, -1), _edge(velocity_B, 1)
    short = np.interp(max(first.rise, last.rise), SHARP_RISE, (1, 0))
    straight = np.interp(min(first.bend, last.bend), (-UNSURE, UNSURE), (0, 1))
    steep = np.interp(min(first.lobe, last.lobe), SHARP_LOBE, (0, 1))
    share = float(min(short, straight, steep))
    return (share * (first.end - on), share * (off - last.end)) if share else (0.0, 0.0)


class _Edge(NamedTuple):
    """Edge of a QRS complex.

    Attributes:
        end: start or end of QRS at this edge if the edge is sharp, in samples from the R-peak.
        rise: number of samples in which the velocity rises from a tenth to half of the outermost lobe.
        bend: bend of the edge minus the minimum bend of a sharp edge (see `SHARP_BEND`).
        lobe: height of the outermost lobe as a share of the peak velocity.
    """

    end: float
    rise: float
    bend: float
    lobe: float


def _edge(velocity_B: Floats, step: int) -> _Edge:
    """Measure the edge of QRS at its start if `step` is -1, or at its end if `step` is 1."""
    velocity_B, peak, rest = _smoothed(velocity_B)
    height = velocity_B[peak] - rest
    top = start = _walk(velocity_B, peak, step, rest + QRS_SHARES[0] * height)
    while top != peak and (
        velocity_B[top] < rest + LOBE * height or velocity_B[top] < velocity_B[[top - 1, top + 1]].max()
    ):
        top -= step
    outwards = (velocity_B[top::step] - rest) / max(velocity_B[top] - rest, np.finfo(float).tiny)
    high, half, tenth = (_crossing(outwards, share) for share in (0.9, 0.5, 0.1))
    within_reach = BEFORE - QRS_REACH[0] < top + step * tenth < BEFORE + QRS_REACH[1]
    if not within_reach or step * (start - top) - tenth > FOOT:  # a low wave may lie outside the edge
        return _Edge(math.nan, math.inf, -math.inf, 0.0)
    rise = tenth - half
    end = top - BEFORE + step * (tenth - SHARP_INWARD + RISE_OUTWARD * rise)
    least = SHARP_BEND + BEND_PER_SAMPLE * max(0.0, rise - SHORT_RISE)
    lobe = (velocity_B[top] - rest) / max(height, np.finfo(float).tiny)
    return _Edge(end, rise, (half - high) / rise - least, float(lobe))


def _crossing(falling: Floats, level: float) -> float:
    """Return the interpolated sample at which a curve first falls to a level, or infinity."""
    below = np.flatnonzero(falling <= level)
    if not len(below) or not below[0]:
        return math.inf
    first = int(below[0])
    return float(first - (level - falling[first]) / (falling[first - 1] - falling[first]))


def _smoothed(velocity_B: Floats) -> tuple[Floats, int, float]:
    """Return the smoothed velocity, the sample of its peak in QRS, and its level at rest."""
    # Rounding can make the running sum slightly negative.
    velocity_B = np.sqrt(np.maximum(uniform_filter1d(velocity_B**2, 5), 0))
    peak = BEFORE - BRIDGE * 5 + int(np.argmax(velocity_B[BEFORE - BRIDGE * 5 : BEFORE + BRIDGE * 5]))
    return velocity_B, peak, float(velocity_B[BEFORE - 150 : BEFORE + 200].min())


def _qrs(velocity_B: Floats) -> tuple[float, float]:
    first, last = (np.mean(_crossings(velocity_B, step)) for step in (-1, 1))
    return float(first - BEFORE - QRS_OUTWARD), float(last - BEFORE + QRS_OUTWARD)


def _crossings(velocity_B: Floats, step: int) -> Floats:
    """Return the last samples of QRS above each of the `QRS_SHARES`, in the direction of `step`."""
    velocity_B, peak, rest = _smoothed(velocity_B)
    levels = (rest + share * (velocity_B[peak] - rest) for share in QRS_SHARES)
    return np.array([_walk(velocity_B, peak, step, level) for level in levels], np.float64)


def _walk(velocity_B: Floats, peak: int, step: int, level: float) -> int:
    """Return the last sample of QRS with a velocity above a level, starting from the peak.

    Up to `BRIDGE` samples below the level are skipped, because they may lie between two parts of QRS.
    """
    last = sample = peak
    while BEFORE - QRS_REACH[0] < sample < BEFORE + QRS_REACH[1] and abs(sample - last) <= BRIDGE:
        sample += step
        last = sample if velocity_B[sample] > level else last
    return last


def t_end(velocity_B: Floats, qrs_off: float, rr: float, seen: int) -> float:
    """Return the end of the T wave in samples from the R-peak, or NaN if it isn't visible.

    The velocity of a T wave has one or more peaks. After the last of them, T ends when the velocity has
    fallen to the share `T_SHARE` of the peak. Both are heights above the least velocity in the 75 samples
    after the peak.

    Args:
        velocity_B: spatial velocity of the beat.
        qrs_off: end of QRS in samples from the R-peak.
        rr: usual RR interval in s.
        seen: last known sample of the beat. Later samples are padding.
    """
    first = BEFORE + int(qrs_off) + 30
    room = min(T_OF_RR * rr, T_LATEST * np.sqrt(rr))
    end = min(len(velocity_B) - 1, BEFORE + int(room * FS), seen)
    if end - first < SHORTEST:
        return float("nan")
    seconds_B = (np.arange(len(velocity_B)) - BEFORE) / FS
    likely_B = np.exp(-(((seconds_B - T_EXPECTED * np.sqrt(rr)) / T_WIDTH) ** 2) / 2)
    steepest = first + int(np.argmax((velocity_B * likely_B)[first:end]))
    while lobes := [
        top
        for top in _tops(velocity_B, steepest + 1, min(steepest + 60, end))
        if velocity_B[top] > T_LOBE * velocity_B[steepest]
        and likely_B[top] > 0.25
        and (velocity_B[steepest:top] < T_SHARE * velocity_B[steepest]).sum() < T_REST
    ]:
        steepest = lobes[-1]
    t_off = _falls(velocity_B[steepest : steepest + 75], T_SHARE) + steepest
    return float(t_off - BEFORE) if seen == len(velocity_B) - 1 or t_off <= seen - T_SEEN else float("nan")


def _p(slow_B: Floats, fast_B: Floats, qrs_on: int, earliest: int) -> tuple[float, float]:
    """Return the start and end of the P wave in samples from the R-peak, or NaN.

    The start is found in the slow velocity, and the end in the fast velocity.
    """
    first, end = max(10, qrs_on - int(P_EARLIEST * FS), earliest), qrs_on - 10
    if end - first < SHORTEST:
        return float("nan"), float("nan")
    seconds_B = (np.arange(len(slow_B)) - qrs_on) / FS
    likely_B = np.exp(-(((seconds_B + P_EXPECTED) / P_WIDTH) ** 2) / 2)
    alone_B = np.where(np.arange(len(slow_B)) < end, slow_B, 0)
    middle = first + int(np.argmax((uniform_filter1d(alone_B, 45) * likely_B)[first:end]))
    rise = max(first, middle - 40)
    rise += int(np.argmax(slow_B[rise : middle + 1]))
    while lobes := [
        top for top in _tops(slow_B, max(first + 1, rise - 35), rise) if slow_B[top] > P_LOBE * slow_B[rise]
    ]:
        rise = lobes[0]
    begin = max(first, rise - 60)
    on = rise - _falls(slow_B[begin : rise + 1][::-1], P_SHARE)
    last = min(qrs_on - 4, middle + 45)
    fall = middle + int(np.argmax(fast_B[middle:last])) if last > middle else middle
    off = fall + _falls(fast_B[fall : max(last, fall + 1)], P_END_SHARE)
    touches = earliest > 10 and on <= earliest + TOUCHING
    return float("nan") if touches else float(on - BEFORE), float(off - BEFORE)


def _tops(x_B: Floats, first: int, end: int) -> list[int]:
    return [sample for sample in range(first, end) if x_B[sample - 1] <= x_B[sample] > x_B[sample + 1]]


def _falls(x: NDArray[np.float64], share: float) -> int:
    """Count the samples until `x` has fallen near its minimum, to a share of its initial height above it."""
    low = x.min()
    below = np.flatnonzero(x < low + share * (x[0] - low))
    return int(below[0]) if len(below) else len(x) - 1
