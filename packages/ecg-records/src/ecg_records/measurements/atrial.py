"""Check that each QRS complex has its own P wave.

In atrial flutter and in fast rhythms with wide QRS complexes, a detected P wave doesn't belong to the next
QRS complex, so PR has no meaning.

Shapes: K leads, L samples at 500 Hz, M decimated samples, N beats, S lags.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements.delineation import Boundaries
from ecg_records.measurements.median_beat import FS, AlignedBeats, Floats
from ecg_records.signal.filters import band, zero_phase

BAND_HZ, STEP = (3, 15), 4
"""Frequency band in which atrial waves are compared, and decimation step that keeps this band."""
FLUTTER_S = (0.14, 0.26)
"""Shortest and longest time between flutter waves in s, which is 430 to 230 per minute.

Longer times are excluded, because many hearts have such a time between T and P.
"""
BEFORE_QRS, BEHIND_QRS = 15, 25
"""Numbers of samples before and after a QRS complex that are also ignored."""
RETURNS, LEADS_RETURN = 0.7, 3
"""Flutter: the correlation of a lead with itself one flutter wave later, and the number of leads that must
exceed this correlation."""
FAST, WIDE_FAST, WIDE_MS = 150, 120, 140
"""Rates per minute above which a P wave isn't accepted: `FAST` if P starts at the end of T, `WIDE_FAST` if
QRS lasts `WIDE_MS` or more."""
AT_T_END = 20
"""Minimum number of samples between the end of T and the start of P in a fast rhythm. With fewer samples, P
may be a part of T."""
AtrialReason = Literal["flutter", "fast_wide", "p_on_t"]


def pr_doubt(rate: float, qrs: float | None, aligned: AlignedBeats, ends: Boundaries) -> AtrialReason | None:
    """Return the reason to reject the detected P wave, or None if every beat has its own P wave.

    Args:
        rate: heart rate in beats per minute.
        qrs: QRS duration in ms. None (not measured) counts as a wide QRS complex.
        aligned: the beats.
        ends: boundaries of the median beat.
    """
    if rate > WIDE_FAST and (qrs is None or qrs >= WIDE_MS):
        return "fast_wide"
    since_t = ends.p_on + aligned.rr * FS - ends.t_off
    if rate > FAST and not since_t >= AT_T_END:
        return "p_on_t"
    return "flutter" if _flutters(aligned, ends) else None


def _flutters(aligned: AlignedBeats, ends: Boundaries) -> bool:
    """Return whether waves outside QRS repeat as fast as flutter waves in several leads."""
    x_KM = zero_phase(aligned.x_KL, band(2, FS, BAND_HZ))[:, ::STEP]
    outside_M = np.ones(aligned.x_KL.shape[1], bool)
    first, last = int(ends.qrs_on) - BEFORE_QRS, int(ends.qrs_off) + BEHIND_QRS
    for peak in aligned.found_N.tolist():
        outside_M[max(0, peak + first) : peak + last] = False
    outside_M = outside_M[::STEP]
    lags = np.arange(*(round(seconds * FS / STEP) for seconds in FLUTTER_S))
    alike_KS = np.stack([_alike(x_KM, outside_M, lag) for lag in lags.tolist()], axis=1)
    inner_KS = alike_KS[:, 1:-1]
    is_top_KS = (inner_KS >= alike_KS[:, :-2]) & (inner_KS >= alike_KS[:, 2:])
    returns_K = np.where(is_top_KS, inner_KS, 0).max(axis=1)
    return int((returns_K > RETURNS).sum()) >= min(LEADS_RETURN, len(x_KM))


def _alike(x_KM: Floats, outside_M: NDArray[np.bool_], lag: int) -> Floats:
    """Return each lead's autocorrelation at a lag, over samples outside QRS complexes."""
    both_M = outside_M[:-lag] & outside_M[lag:]
    now_KM, later_KM = x_KM[:, :-lag][:, both_M], x_KM[:, lag:][:, both_M]
    length_K = np.sqrt((now_KM**2).sum(1) * (later_KM**2).sum(1))
    return np.asarray((now_KM * later_KM).sum(1) / np.maximum(length_K, np.finfo(float).tiny))
