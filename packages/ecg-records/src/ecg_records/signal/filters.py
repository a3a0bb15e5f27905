"""Detect QRS complexes by Pan and Tompkins' method, as NeuroKit2's `pantompkins1985` does but faster.

NeuroKit2 is slow because it designs the filter again for every record and computes with numpy scalars. A test
compares the results of both. Sources: Pan & Tompkins 1985, doi:10.1109/TBME.1985.325532, and Porr's
py-ecg-detectors.

Shapes: N leads, L samples.
"""

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d
from scipy.signal import butter, sosfilt, sosfilt_zi

BAND = (5, 15)
"""Band of QRS complexes in Hz."""
WINDOW = 0.12
"""Length of the moving average in seconds."""
DEAF = 0.2
"""Seconds at the start of a signal in which the moving average is set to zero, as in NeuroKit2."""
APART, MISSED_APART = 0.3, 0.25
"""Minimum time in s between two detections, and between a detection and a missed beat."""
LATE = 1.66
"""If there was no detection for this many mean intervals, the strongest maximum above half the threshold
becomes a beat."""
INTERVALS = 8
"""Number of intervals that are averaged."""
Floats = NDArray[np.float64]
Kind = Literal["low", "high", "bandpass"]
THRESHOLD, MEMORY = 0.25, 0.125
"""Position of the detection threshold between the noise level (0) and the signal level (1), and the weight
with which a new maximum changes one of these running levels."""


def pan_tompkins(clean_NL: Floats, fs: float) -> list[list[int]]:
    """Detect QRS complexes in leads that `in_band` has filtered.

    Returns:
        The samples of the detections per lead, ascending. At 500 Hz they are 20 to 50 samples after the
        R-peaks.
    """
    return search(np.square(np.diff(clean_NL, axis=1)), fs)


def search(squared_NL: Floats, fs: float, apart: float = APART) -> list[list[int]]:
    """Detect QRS complexes in the squared slopes of leads.

    Returns:
        The samples of the detections per lead, at least `apart` seconds apart.
    """
    average_NL = _trailing_mean(squared_NL, int(WINDOW * fs))
    average_NL[:, : int(DEAF * fs)] = 0
    inner_NL = average_NL[:, 1:-1]
    is_top_NL = (average_NL[:, :-2] < inner_NL) & (inner_NL > average_NL[:, 2:])
    tops = [np.flatnonzero(is_top_L) + 1 for is_top_L in is_top_NL]
    return [
        _search(tops_n.tolist(), average_L[tops_n].tolist(), fs, apart)
        for tops_n, average_L in zip(tops, average_NL, strict=True)
    ]


def _search(tops: list[int], heights: list[float], fs: float, apart_s: float) -> list[int]:
    """Choose the beats among the maxima of a lead, by adaptive thresholds.

    If a gap between beats is long, the strongest maximum in the gap may be a missed beat.

    Args:
        tops: samples of the maxima.
        heights: values of the moving average at the maxima.
        fs: sampling rate in Hz.
        apart_s: minimum time between two beats in s.
    """
    apart, missed_apart = int(apart_s * fs), int(MISSED_APART * fs)
    beats: list[int] = []
    signal = noise = 0.0
    last, last_index, deaf_until, rest = 0, -1, apart, 1 - MEMORY
    for index, (top, height) in enumerate(zip(tops, heights, strict=True)):
        if top <= deaf_until or height <= (threshold := noise + THRESHOLD * (signal - noise)):
            noise = MEMORY * height + rest * noise
            continue
        beats.append(top)
        if len(beats) > INTERVALS + 1:
            mean = (beats[-2] - beats[-2 - INTERVALS]) // INTERVALS
            if top - last > int(LATE * mean):
                between = range(last_index + 1, index)
                missed = [
                    peak
                    for peak in between
                    if last + missed_apart < tops[peak] < top - missed_apart and heights[peak] > threshold / 2
                ]
                if missed:
                    beats.insert(-1, tops[max(missed, key=heights.__getitem__)])
        last, last_index, deaf_until = top, index, top + apart
        signal = MEMORY * height + rest * signal
    return beats


def in_band(x_NL: Floats, fs: float) -> Floats:
    """Apply a causal filter for the band of QRS complexes, as NeuroKit2's `ecg_clean` does."""
    return _causal(x_NL, band(1, fs), x_NL.mean(axis=1, keepdims=True))


def zero_phase(x: Floats, sos: Floats) -> Floats:
    """Filter along the last axis like scipy's `sosfiltfilt` for even orders, but twice as fast."""
    beyond = 3 * (2 * len(sos) + 1)
    ahead, behind = 2 * x[..., :1] - x[..., beyond:0:-1], 2 * x[..., -1:] - x[..., -2 : -beyond - 2 : -1]
    forth = _causal(np.concatenate([ahead, x, behind], axis=-1), sos, ahead[..., :1])
    return _causal(forth[..., ::-1], sos, forth[..., -1:])[..., -beyond - 1 : beyond - 1 : -1]


def _causal(x: Floats, sos: Floats, before: Floats) -> Floats:
    state = _steady(sos.tobytes()).reshape(len(sos), *[1] * (x.ndim - 1), 2)
    return np.asarray(sosfilt(sos, x, zi=state * before)[0], np.float64)


# This takes longer than filtering a beat, so the result is cached.
_steady = cache(lambda sos: sosfilt_zi(np.frombuffer(sos).reshape(-1, 6)))


def _trailing_mean(x_NL: Floats, window: int) -> Floats:
    mean_NL = np.asarray(uniform_filter1d(x_NL, window, origin=(window - 1) // 2), np.float64)
    head = min(window - 1, x_NL.shape[1])
    mean_NL[:, :head] = np.cumsum(x_NL[:, :head], axis=1) / np.arange(1, head + 1)
    return mean_NL


@cache
def band(order: int, fs: float, hertz: float | tuple[int, int] = BAND, kind: Kind = "bandpass") -> Floats:
    """Return a Butterworth filter as second-order sections, by default for Pan and Tompkins' band."""
    return np.asarray(butter(order, hertz, kind, fs=fs, output="sos"), np.float64)
