"""Refine the detections of QRS complexes: move each detection to its R-peak, and drop duplicates and T waves.

The Pan–Tompkins detector returns the maximum of a trailing moving average, about 20 to 50 samples after the
R-peak at 500 Hz. Leads of equal length are refined together, because a call per lead would be slow.

Shapes: N leads, L samples, K detections or beats of all leads, W samples around each detection.
"""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from ecg_records.signal.filters import BAND, band, zero_phase
from ecg_records.signal.samples import median

LAG = 0.12
"""Maximum delay of the detector's moving average in s, which is the width of the average."""
HALF_QRS = 0.05
"""Maximum distance in s between the maximum energy and the extremum of a QRS complex."""
REFRACTORY = 0.2
"""Time in s within which two detections are the same beat (Pan & Tompkins 1985)."""
T_WAVE = 0.36
HALF_SLOPE = 0.25
"""A detection within `T_WAVE` seconds of a beat is a T wave if it has less than `HALF_SLOPE` of the beat's
energy.

A quarter of the energy is half of the slope (same source).
"""
SLOWEST = 0.5
WEAK = 0.04
"""Lowest rate in beats per second, and minimum energy of a beat as a share of the usual energy.

The usual energy is the median energy of the strongest detections. Their number is the number of beats in a
record at the lowest rate. Weaker detections are noise. They occur because the detector chooses its threshold
from the start of the record.
"""


def refined(
    answers: Sequence[NDArray[np.int64]],
    x_NL: NDArray[np.float64],
    energy_NL: NDArray[np.float64],
    fs: float,
    weak: float = WEAK,
) -> list[NDArray[np.int64]]:
    """Return the ascending R-peaks of each lead from raw detections.

    Args:
        answers: detected samples of each lead, in any order. A beat may have several detections or none.
        x_NL: the leads in mV.
        energy_NL: result of the function `energy` for the leads.
        fs: samples per second.
        weak: minimum energy of a beat, as a share of the usual energy.
    """
    tops = _climb(energy_NL, answers, round(LAG * fs))
    beats = [_distinct(tops_n, energy_L, fs, weak) for tops_n, energy_L in zip(tops, energy_NL, strict=True)]
    return _extrema(x_NL, beats, fs)


def energy(x_NL: NDArray[np.float64], fs: float, hertz: tuple[int, int] = BAND) -> NDArray[np.float64]:
    """Return the moving average of the squared slope in the band `hertz`, without delay.

    The default is Pan and Tompkins' band.
    """
    band_NL = zero_phase(x_NL, band(2, fs, hertz))
    slope_NL = np.empty_like(band_NL)  # twice the result of numpy.gradient, in half the time
    np.subtract(band_NL[:, 2:], band_NL[:, :-2], out=slope_NL[:, 1:-1])
    slope_NL[:, 0] = 2 * (band_NL[:, 1] - band_NL[:, 0])
    slope_NL[:, -1] = 2 * (band_NL[:, -1] - band_NL[:, -2])
    squared_NL = np.square(slope_NL, out=slope_NL)
    return np.asarray(uniform_filter1d(squared_NL, round(2 * HALF_QRS * fs)), np.float64)


def _climb(
    energy_NL: NDArray[np.float64], starts: Sequence[NDArray[np.int64]], reach: int
) -> list[NDArray[np.int64]]:
    """Move each start to the strongest sample within `reach`, and repeat until it is a local maximum."""
    rows_K, there_K = flat(starts)
    here_K = np.full_like(there_K, -1)
    around_NLW = _around(energy_NL, reach, reach + 1)
    while (here_K != there_K).any():
        here_K = there_K
        strongest_K = around_NLW[rows_K, here_K].argmax(1)
        there_K = np.clip(here_K - reach + strongest_K, 0, energy_NL.shape[1] - 1)
    return by_lead(here_K, starts)


def _distinct(
    beats: NDArray[np.int64], energy_L: NDArray[np.float64], fs: float, weak: float
) -> NDArray[np.int64]:
    """Return the beats of a lead without duplicates, T waves and noise."""
    places = np.unique(beats)
    strengths = np.sort(energy_L[places])[::-1]
    weakest = weak * median(strengths[: max(1, round(SLOWEST * len(energy_L) / fs))]) if len(places) else 0
    return unexplained(places[energy_L[places] >= weakest], energy_L, fs, HALF_SLOPE)


def unexplained(
    places: NDArray[np.int64], strength_L: NDArray[np.floating], fs: float, of_t_wave: float
) -> NDArray[np.int64]:
    """Return the detections that are neither duplicates nor T waves of a stronger beat nearby.

    Args:
        places: samples of the detections.
        strength_L: strength at every sample.
        fs: samples per second.
        of_t_wave: maximum strength of a T wave, as a share of its beat's strength.
    """
    ranked = places[np.argsort(-strength_L[places], kind="stable")]
    strongest: list[tuple[int, float]] = []
    for beat, strength in zip(ranked.tolist(), strength_L[ranked].tolist(), strict=True):
        if not any(
            (away := abs(beat - other)) < REFRACTORY * fs
            or (away < T_WAVE * fs and strength < stronger * of_t_wave)
            for other, stronger in strongest
        ):
            strongest.append((beat, strength))
    return np.array(sorted(beat for beat, _ in strongest), np.int64)


def _extrema(
    x_NL: NDArray[np.float64], beats: Sequence[NDArray[np.int64]], fs: float
) -> list[NDArray[np.int64]]:
    """Move each beat to the sample at which the lead is farthest from its local median."""
    half, around, length = round(HALF_QRS * fs), round(REFRACTORY * fs), x_NL.shape[1]
    rows_K, beats_K = flat(beats)
    ordered_KW = np.sort(_around(x_NL, around, around, np.nan)[rows_K, beats_K], axis=1)  # NaN comes last
    known_K = np.minimum(beats_K + around, length) - np.maximum(beats_K - around, 0)
    middle_K2 = np.stack([(known_K - 1) // 2, known_K // 2], axis=1)
    level_K1 = np.take_along_axis(ordered_KW, middle_K2, axis=1).sum(1, keepdims=True) / 2
    departure_KW = np.abs(_around(x_NL, half, half + 1)[rows_K, beats_K] - level_K1)
    peaks_K = np.clip(beats_K - half + departure_KW.argmax(1), 0, length - 1)
    return [np.unique(peaks) for peaks in by_lead(peaks_K, beats)]


def _around(
    x_NL: NDArray[np.float64], before: int, behind: int, beyond: float | None = None
) -> NDArray[np.float64]:
    """Return a window around each sample, [N, L, before + behind].

    Beyond the ends of a lead, the value is `beyond`, or the nearest sample if `beyond` is None.
    """
    ends = ((0, 0), (before, behind))
    padded_NL = np.pad(x_NL, ends, "edge") if beyond is None else np.pad(x_NL, ends, constant_values=beyond)
    return sliding_window_view(padded_NL, before + behind, axis=1)


def flat(places: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Concatenate the detections of all leads.

    Returns:
        The row of the lead and the sample of each detection, int64 [K] each.
    """
    counts = [len(peaks) for peaks in places]
    none = np.zeros(0, np.int64)  # for no leads at all
    return np.repeat(np.arange(len(counts)), counts), np.concatenate([none, *places])


def by_lead(places_K: NDArray[np.int64], like: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Undo `flat`: split the samples of all leads into an array per lead, as long as the arrays in `like`."""
    return np.split(places_K, np.cumsum([len(peaks) for peaks in like])[:-1]) if like else []
