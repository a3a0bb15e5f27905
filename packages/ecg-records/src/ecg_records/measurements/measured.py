"""Compute 258 hand-crafted features: rhythm, intervals, and distribution, spectrum and waves of each lead.

Intervals come from `intervals.py`. Heights of waves are measured on the median beat. A feature that can't be
measured is zero. For each of P, PR, QRS and QT, a second feature is 1 if the interval could be measured, and
0 otherwise.

Shapes: C leads, K leads of the input, L samples at 500 Hz, H frequencies, E bands, N beats, B samples of a
beat, F values, V values of a lead.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.signal import welch

from ecg_records.measurements import delineation, intervals, median_beat
from ecg_records.measurements.median_beat import FS
from ecg_records.measurements.rate import LEAST_BEATS
from ecg_records.signal.leads import LEADS

VERSION = 3
"""Version of the features. Increase it when `measure` changes its values, so that stored values aren't
reused."""
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
BANDS_HZ = (0.5, 2, 5, 10, 20, 40, 80)
INTERVALS = ("p", "pr", "qrs", "qt")
HEIGHTS = 6
"""Number of heights: P, Q, R, S, the ST level and T."""
ST_LEVEL_S = 0.06
"""Seconds after the end of QRS at which the ST level is read."""
BAZETT = (60, 100)
"""Rates per minute between which QTc uses Bazett's formula, because existing classifiers were fitted on
it."""
LEAST_S = 0.3
"""Minimum length of a recording in s. No beats are searched in a shorter recording."""
Floats = NDArray[np.float64]
OF_RHYTHM, OF_INTERVALS = 7, 11
"""Number of features from RR intervals, and number of features from intervals and axis."""
WIDTH = len(LEADS) * (len(PERCENTILES) + 1 + len(BANDS_HZ) - 1 + HEIGHTS) + OF_RHYTHM + OF_INTERVALS
"""Number of features of a record, F."""


def measure(signal_CL: NDArray[np.float32], absent_C: NDArray[np.bool_] | None = None) -> Floats:
    """Return the features of a record, float64 [F], always finite.

    Args:
        signal_CL: the twelve leads in mV.
        absent_C: absent leads, which are zero in the signal. Their features are means over the other leads.
    """
    x_CL = signal_CL.astype(np.float64)
    measurable_CL = x_CL if x_CL.shape[1] >= LEAST_S * FS else np.zeros((len(LEADS), round(FS)))
    beats = median_beat.beats(measurable_CL, range(len(LEADS)))
    ends = None
    if len(beats.peaks_N) >= LEAST_BEATS:
        ends = delineation.delineate(beats.median_KB, beats.rr)
    measured = intervals.measure_beats(beats, LEADS, ends)
    tables = [_rhythm(beats.peaks_N.astype(np.float64)), _intervals(measured)]
    lead_VC = np.concatenate([_distribution(x_CL), _spectrum(x_CL)])
    height_VC = np.zeros((HEIGHTS, len(LEADS))) if ends is None else _heights(beats.median_KB, ends)
    if absent_C is not None and absent_C.any() and not absent_C.all():
        for value_VC in (lead_VC, height_VC):
            value_VC[:, absent_C] = value_VC[:, ~absent_C].mean(axis=1, keepdims=True)
    values_F = np.concatenate([lead_VC.ravel(), *tables, height_VC.ravel()])
    return np.asarray(np.nan_to_num(values_F, posinf=0.0, neginf=0.0))


def _distribution(x_CL: Floats) -> Floats:
    """Return each lead's percentiles relative to its median, and its standard deviation: [V, C]."""
    level_VC = np.percentile(x_CL, (50, *PERCENTILES), axis=1)
    return np.concatenate([level_VC[1:] - level_VC[:1], x_CL.std(axis=1)[None]])


def _spectrum(x_CL: Floats) -> Floats:
    """Return the logarithm of the power per band and lead, [E, C]."""
    hz, power_CH = welch(x_CL, fs=FS, nperseg=min(2 * FS, x_CL.shape[1]))
    power_EC = [power_CH[:, (hz >= low) & (hz < high)].sum(axis=1) for low, high in pairwise(BANDS_HZ)]
    return np.asarray(np.log(np.add(power_EC, 1e-9)), np.float64)


def _rhythm(peaks: Floats) -> Floats:
    """Return the number of beats and statistics of the RR intervals in s.

    The statistics are mean, standard deviation, minimum, maximum, RMSSD, and the share of successive
    differences above 50 ms.
    """
    rr = np.diff(peaks) / FS
    if len(rr) < 2:
        return np.array([len(peaks), *[0.0] * 6])
    steps = np.diff(rr)
    rmssd = np.sqrt(np.mean(steps**2))
    return np.array([len(peaks), rr.mean(), rr.std(), rr.min(), rr.max(), rmssd, np.mean(abs(steps) > 0.05)])


def _intervals(measured: intervals.Measurements) -> Floats:
    """Return intervals and QTc in s (0 if unknown), flags of known intervals, and the axis as a vector."""
    lengths = [getattr(measured, name) for name in INTERVALS]
    usual = BAZETT[0] <= (measured.rate or 0) <= BAZETT[1]
    qtc = measured.qtc("bazett" if usual else "fridericia")
    has_length = [float(length is not None) for length in lengths]
    axis = None if measured.axis is None else math.radians(measured.axis)
    direction = (0.0, 0.0) if axis is None else (math.cos(axis), math.sin(axis))
    return np.array([*((length or 0.0) / 1000 for length in (*lengths, qtc)), *has_length, *direction])


def _heights(beat_CB: Floats, ends: delineation.Boundaries) -> Floats:
    """Return the heights of the median beat's waves relative to the PR baseline, [6, C]."""
    on, off = (median_beat.BEFORE + round(end) for end in (ends.qrs_on, ends.qrs_off))
    above_CB = beat_CB - beat_CB[:, on - 5 : on + 1].mean(1, keepdims=True)
    qrs_CB = above_CB[:, on : off + 1]
    r_C = qrs_CB.argmax(1)
    before_CB = np.arange(qrs_CB.shape[1]) <= r_C[:, None]
    heights = [
        _largest(_between(above_CB, ends.p_on, ends.p_off)),
        np.where(before_CB, qrs_CB, np.inf).min(1),
        qrs_CB.max(1),
        np.where(before_CB, np.inf, qrs_CB).min(1),
        above_CB[:, min(off + round(ST_LEVEL_S * FS), above_CB.shape[1] - 1)],
        _largest(_between(above_CB, ends.qrs_off + ST_LEVEL_S * FS, ends.t_off)),
    ]
    return np.asarray(np.where(np.isfinite(heights), heights, 0.0))


def _between(x_CB: Floats, start: float, end: float) -> Floats:
    """Return the samples of a wave, or no samples if its start or end is unknown."""
    if not (math.isfinite(start) and math.isfinite(end)):
        return x_CB[:, :0]
    return x_CB[:, median_beat.BEFORE + round(start) : median_beat.BEFORE + round(end) + 1]


def _largest(x_CB: Floats) -> Floats:
    """Return each lead's value farthest from zero, or zero if there are no samples."""
    if not x_CB.shape[1]:
        return np.zeros(len(x_CB))
    return np.take_along_axis(x_CB, abs(x_CB).argmax(1)[:, None], 1)[:, 0]
