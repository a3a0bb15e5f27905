"""Measure the heart rate, and find reasons not to trust it.

Reasons are too few beats, beats of too many shapes, two detectors that disagree, and steep slopes between
beats, which suggest missed beats.

Shapes: C and K leads, L samples at 500 Hz, N beats, B samples of a beat.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from ecg_records.measurements.median_beat import ALTERNATE, BEFORE, FS, QRS_HZ, AlignedBeats, Floats, low_pass
from ecg_records.measurements.pacing import without_spikes
from ecg_records.measurements.refine import REFRACTORY, energy, refined
from ecg_records.measurements.rpeaks import SHORTEST, still_as_zero
from ecg_records.signal.filters import in_band, search

LEAST_BEATS = 3
DETECTORS_AGREE = 0.15
"""Maximum relative difference between the rates of two detectors."""
RATES_NEAR, MEANS_AGREE = 0.05, 0.1
"""Maximum relative difference between mean and median rate, and between the mean rates of two detectors.

The second detector is needed only if mean and median rate differ.
"""
LEAST_ALIKE = 0.4
"""Minimum share of beats with the dominant shape. The share may be slightly less than half in a bigeminy with
an odd number of beats."""
STEEPEST, STEEPER = 50, 1.3
"""The slope of the beat must not be more than `STEEPER` times as steep elsewhere as within `STEEPEST` samples
of R."""
BETWEEN_HZ, BETWEEN = 20, 0.17
"""Cut-off of a low-pass filter, and slope between two beats that suggests a missed wide beat.

The slope is relative to the slope of a QRS complex. It is at least 0.19 in synthetic bigeminies in which half
of the beats were missed.
"""
OFTEN = 0.4
"""Minimum share of RR intervals with a slope above `BETWEEN` that makes the rate doubtful."""
AFTER_R_S, BEFORE_R_S, TOGETHER_S = 0.42, 0.28, 0.05
"""Steep slopes are searched between T and the next P, from `AFTER_R_S` after R to `BEFORE_R_S` before the
next R. Leads count as the same wave if they are steep within `TOGETHER_S` of each other.

At low rates T ends later, in proportion to the cube root of RR.
"""
AS_SOON_AS_T = 0.36
"""Latest peak of T in s after R at 60/min. It grows with the cube root of RR."""
UNLIKE_CYCLES = 0.25
"""Minimum relative difference of alternating RR intervals if every second detection may be a T wave."""
STEEP_HZ = (7, 20)
"""Band of the second detector. It is lower than the band of the first detector, because wide ectopic beats
have little energy above 20 Hz."""
WEAK_IN_ALL = 0.12
"""Minimum joint energy of a beat, relative to a usual beat. P waves and noise have less energy."""
RateReason = Literal["few_beats", "few_alike", "detectors", "steeper", "alternate", "between"]
"""Reason not to trust the rate.

- `few_beats`: the record has fewer than three beats.
- `few_alike`: too few beats have the dominant shape.
- `detectors`: two detectors disagree about the rate.
- `steeper`: the median beat is steeper elsewhere than near its R-peak.
- `alternate`: every second detection may be a T wave.
- `between`: steep slopes between beats suggest missed beats.
"""


def beats_per_minute(peaks: NDArray[np.int64], fs: float) -> float:
    """Return the median rate of three or more beats.

    First the mean of each pair of successive RR intervals is computed. The rate is 60 s divided by the median
    of these means. So both intervals of a bigeminy count, and a stretch without detected beats has no effect.

    Example:
        >>> beats_per_minute(np.array([0, 250, 1000, 1250, 2000]), 500)  # 0.5 and 1.5 s in turn
        60.0
    """
    rr = np.diff(peaks)
    return 60 * fs / float(np.median((rr[1:] + rr[:-1]) / 2))


def mean_beats_per_minute(peaks: NDArray[np.int64], fs: float) -> float:
    """Return the mean rate of three or more beats.

    First the mean of each pair of successive RR intervals is computed. The rate is 60 s divided by the mean
    of these means. So the rate of a bigeminy doesn't depend on which interval comes first.

    Example:
        >>> mean_beats_per_minute(np.array([0, 500, 1000, 3000, 3500]), 500)  # a pause of 4 s
        30.0
    """
    return 120 * fs * (len(peaks) - 2) / float(peaks[-1] - peaks[0] + peaks[-2] - peaks[1])


def mean_rate(aligned: AlignedBeats) -> float:
    """Return the mean rate of a record, or the median rate if the mean rate is doubtful.

    The mean rate is doubtful if it differs both from the median rate and from the second detector's mean
    rate.
    """
    mean, usual = (rate(aligned.found_N, FS) for rate in (mean_beats_per_minute, beats_per_minute))
    if abs(mean - usual) <= RATES_NEAR * usual:
        return mean
    other = mean_beats_per_minute(detect_again(aligned.x_KL, FS), FS)
    return mean if abs(mean - other) <= MEANS_AGREE * other else usual


def rate_doubt(aligned: AlignedBeats) -> RateReason | None:
    """Return the reason not to trust the rate and intervals of a record, or None."""
    if len(aligned.found_N) < LEAST_BEATS:
        return "few_beats"
    if len(aligned.alike_N) and aligned.alike_N.mean() < LEAST_ALIKE:
        return "few_alike"
    if not _detectors_agree(aligned):
        return "detectors"
    if _steeper_elsewhere(aligned.median_KB, aligned.rr):
        return "steeper"
    if _may_be_t_waves(aligned):
        return "alternate"
    return "between" if _steep_between(aligned) else None


def _detectors_agree(aligned: AlignedBeats) -> bool:
    again = detect_again(aligned.x_KL, FS)
    if len(again) < LEAST_BEATS:
        return False
    rate, other = beats_per_minute(aligned.found_N, FS), beats_per_minute(again, FS)
    return abs(rate - other) <= DETECTORS_AGREE * min(rate, other)


def _steeper_elsewhere(beat_KB: Floats, rr: float) -> bool:
    """Return whether the spatial velocity is higher elsewhere in the beat than near the detected R-peak."""
    slope_KB = np.gradient(low_pass(without_spikes(beat_KB, FS), QRS_HZ), axis=1)
    velocity_B = np.sqrt((slope_KB**2).sum(0))
    reach = min(BEFORE, round(rr / 2 * FS))
    inside_B = velocity_B[BEFORE - reach : BEFORE + reach]
    return bool(inside_B.max() > STEEPER * velocity_B[BEFORE - STEEPEST : BEFORE + STEEPEST].max())


def _may_be_t_waves(aligned: AlignedBeats) -> bool:
    """Return whether every second detection may be a T wave, not a beat.

    Such detections follow the previous detection as soon as a T wave follows R, and differ from the other
    detections in shape or RR interval.
    """
    rr_s = np.diff(aligned.found_N) / FS
    if len(rr_s) < 2:
        return False
    short, long = sorted((np.median(rr_s[::2]), np.median(rr_s[1::2])))
    steps_s = np.diff(rr_s)
    by_shape = aligned.alike_N[1:] != aligned.alike_N[:-1]
    by_distance = (steps_s[1:] * steps_s[:-1] < 0) & (abs(steps_s[1:]) > UNLIKE_CYCLES * short)
    differ = max(by_shape.mean(), by_distance.mean() if len(by_distance) else 0.0)
    return bool(differ >= ALTERNATE and short < AS_SOON_AS_T * np.cbrt(short + long))


def _steep_between(aligned: AlignedBeats) -> bool:
    """Return whether most leads have a steep wave between beats, in at least `OFTEN` of the RR intervals."""
    slope_KL = abs(np.gradient(low_pass(without_spikes(aligned.x_KL, FS), BETWEEN_HZ), axis=1))
    peaks_n, reach = aligned.found_N, round(TOGETHER_S * FS) // 2
    steepest_KL = maximum_filter1d(slope_KL, 2 * reach + 1, axis=1)
    complex_K = np.median(maximum_filter1d(slope_KL, 2 * STEEPEST + 1, axis=1)[:, peaks_n], axis=1)
    share_L = np.median(steepest_KL / np.maximum(complex_K, np.finfo(float).tiny)[:, None], axis=0)
    share_L -= np.median(share_L)  # noise is steep everywhere
    after = AFTER_R_S * max(1.0, float(np.cbrt(aligned.rr)))
    first_n, last_n = peaks_n[:-1] + round(after * FS), peaks_n[1:] - round(BEFORE_R_S * FS)
    steep = [share_L[a:b].max(initial=0) > BETWEEN for a, b in zip(first_n, last_n, strict=True)]
    return bool(sum(steep) >= OFTEN * len(steep))


def detect_again(raw_CL: NDArray[np.floating], fs: float) -> NDArray[np.int64]:
    """Detect R-peaks by a second method: Pan and Tompkins' thresholds on the joint energy of all leads.

    This method has another frequency band and other thresholds than `rpeaks.detect_best`. So the rate is
    trusted if both methods agree.
    """
    if raw_CL.shape[1] < SHORTEST * fs:
        return np.zeros(0, np.int64)
    x_CL = without_spikes(still_as_zero(np.asarray(raw_CL, np.float64)), fs)
    total_1L = _over_leads(energy(x_CL, fs, STEEP_HZ))
    squared_1L = _over_leads(np.square(np.diff(in_band(x_CL, fs), axis=1)))
    forth, back = (search(each_1L, fs, REFRACTORY)[0] for each_1L in (squared_1L, squared_1L[:, ::-1]))
    answers = np.array([*forth, *(x_CL.shape[1] - 1 - peak for peak in back)], np.int64)
    return refined([answers], np.sqrt(total_1L), total_1L, fs, WEAK_IN_ALL)[0]


def _over_leads(energy_CL: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the joint energy of all leads, [1, L]: each lead is divided by its root mean square first."""
    root_CL = np.sqrt(np.maximum(energy_CL, 0))
    mean_C1 = np.sqrt(energy_CL.mean(1, keepdims=True))
    in_units_CL = np.divide(root_CL, mean_C1, out=np.zeros_like(root_CL), where=mean_C1 > 0)
    return np.asarray(np.square(in_units_CL.mean(0, keepdims=True)))
