"""R-peaks on raw lead I, or where they stand out most: Pan–Tompkins both ways, then the true extremum.

Source: paper, §Pretraining Corpus, Signal preprocessing. The detector (`pan_tompkins.py`) answers with the
maximum of a trailing moving average, some 20–50 samples behind the R-peak at 500 Hz, and is deaf for its
first 0.3 s. So it runs forwards and backwards, and each answer moves to the peak of its complex.

Shapes: N leads, each for itself; C leads of one record; L samples; K beats of all N leads; n beats of one.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from marecg.ecg.median import median
from marecg.ecg.pan_tompkins import in_band, in_band_both_ways, pan_tompkins

SHORTEST = 1.0
"""Seconds; below this the detector's filters have nothing to work on."""
LAG = 0.12
"""Seconds by which the detector's moving average can trail the complex: its own width."""
HALF_QRS = 0.05
"""Seconds between a complex's energy centre and its extremum, at most."""
REFRACTORY = 0.2
"""Seconds within which two answers are one beat (Pan & Tompkins 1985)."""
T_WAVE = 0.36
HALF_SLOPE = 0.25
"""Within 0.36 s of a beat, half of its slope (a quarter of its energy) makes a T wave (the same source)."""
SLOWEST = 0.5
WEAK = 0.04
"""Even at 0.5 beats per second so many of the strongest answers are beats. An answer with less than 4 % of
their median energy is noise: the detector learns its threshold from the first thing it sees."""


def detect(lead_i_mV: NDArray[np.floating], fs: float, method: str = "pantompkins1985") -> NDArray[np.int64]:
    """Find the R-peaks of raw lead I.

    Args:
        lead_i_mV: [L] in mV, before any normalisation.
        fs: samples per second.
        method: `pantompkins1985` (the paper's) or `neurokit`, both as NeuroKit2 has them.

    Returns:
        int64 [n], sample indices, ascending; empty for asystole, noise without beats, NaN or a flat line.
    """
    return detect_each(np.asarray(lead_i_mV)[None], fs, method)[0]


def detect_each(
    leads_NL: NDArray[np.floating], fs: float, method: str = "pantompkins1985"
) -> list[NDArray[np.int64]]:
    """Find the R-peaks of some leads of equal length, of each as `detect` would: many take less time at once.

    Args:
        leads_NL: [N, L] in mV, before any normalisation.
        fs: samples per second.
        method: as for `detect`.
    """
    x_NL = np.asarray(leads_NL, np.float64)
    found = [np.zeros(0, np.int64)] * len(x_NL)
    if x_NL.shape[1] >= SHORTEST * fs:
        rows = np.flatnonzero(np.isfinite(x_NL).all(1) & (np.ptp(x_NL, axis=1) > 0))
        x_NL = x_NL[rows]
        for row, peaks in zip(rows, _refined(x_NL, _energy(x_NL, fs), fs, method), strict=True):
            found[row] = peaks
    return found


def detect_best(
    raw_CL: NDArray[np.floating], fs: float, method: str = "pantompkins1985"
) -> NDArray[np.int64]:
    """Find the R-peaks on the best of lead I, lead II and the magnitude of all leads.

    The best are those beside which the leads, all taken together, are quietest. So a beat that is too small
    to be found in one lead counts against that lead, however clearly the others stand out there.

    Args:
        raw_CL: [C, L] in mV, before any normalisation; I and II first.
        fs: samples per second.
        method: as for `detect`.

    Returns:
        As `detect`; lead I's where nothing is better.
    """
    x_CL = np.asarray(raw_CL, np.float64)
    if x_CL.shape[-1] < SHORTEST * fs or not np.isfinite(x_CL).all():
        return np.zeros(0, np.int64)
    magnitude_L = np.linalg.norm(x_CL - median(x_CL)[:, None], axis=0)
    energy_of_all = _energy(np.vstack([x_CL, magnitude_L]), fs)
    energy_CL, lanes = energy_of_all[:-1], np.array([0, 1, -1])
    lanes_NL = np.stack([x_CL[0], x_CL[1], magnitude_L])
    moves_N = np.ptp(lanes_NL, axis=1) > 0
    found = _refined(lanes_NL[moves_N], energy_of_all[lanes[moves_N]], fs, method)
    mean_C1 = energy_CL.mean(1, keepdims=True)
    energy_L = np.divide(energy_CL, mean_C1, out=np.zeros_like(energy_CL), where=mean_C1 > 0).sum(0)
    return max(found, key=lambda peaks: _contrast(energy_L, peaks, fs), default=np.zeros(0, np.int64))


def _refined(
    x_NL: NDArray[np.float64], energy_NL: NDArray[np.float64], fs: float, method: str
) -> list[NDArray[np.int64]]:
    """The detector's answers both ways, each moved to the extremum of its complex."""
    clean_NL = in_band(x_NL, fs) if method == "pantompkins1985" else _neurokit_clean(x_NL, fs, method)
    answers = [_answers_both_ways(clean_L, fs, method) for clean_L in clean_NL]
    tops = _climb(energy_NL, answers, round(LAG * fs))
    beats = [_distinct(tops_n, energy_L, fs) for tops_n, energy_L in zip(tops, energy_NL, strict=True)]
    return _extrema(x_NL, beats, fs)


def _contrast(energy_L: NDArray[np.float64], peaks: NDArray[np.int64], fs: float) -> float:
    """How many times the mean energy at the beats is that between them; 0 without two beats."""
    at_beats_L = np.zeros(len(energy_L), bool)
    for peak in peaks:
        at_beats_L[max(peak - round(REFRACTORY / 2 * fs), 0) : peak + round(REFRACTORY / 2 * fs) + 1] = True
    if len(peaks) < 2 or at_beats_L.all():
        return 0.0
    return float(energy_L[at_beats_L].mean() / max(energy_L[~at_beats_L].mean(), np.finfo(np.float64).tiny))


def find_raw(
    lead_i_mV: NDArray[np.floating], fs: float, method: str = "pantompkins1985"
) -> NDArray[np.int64]:
    """NeuroKit2's detector as it is: indices that lag the R-peaks; empty where it finds none or gives up."""
    clean_1L = _neurokit_clean(np.asarray(lead_i_mV, np.float64)[None], fs, method)
    return np.array(_neurokit_answers(clean_1L[0], fs, method), np.int64)


def _answers_both_ways(clean_L: NDArray[np.float64], fs: float, method: str) -> NDArray[np.int64]:
    forwards, backwards = _answers(clean_L, fs, method), _answers(clean_L[::-1], fs, method)
    return np.array([*forwards, *(len(clean_L) - 1 - each for each in backwards)], np.int64)


def _answers(clean_L: NDArray[np.float64], fs: float, method: str) -> list[int]:
    if method == "pantompkins1985":
        return pan_tompkins(clean_L, fs)
    return _neurokit_answers(clean_L, fs, method)


def _neurokit_clean(x_NL: NDArray[np.float64], fs: float, method: str) -> NDArray[np.float64]:
    import neurokit2 as nk  # noqa: PLC0415 (half a second that whoever looks for no beats saves)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = [nk.ecg_clean(x_L, sampling_rate=fs, method=method) for x_L in x_NL]
    return np.asarray(clean, np.float64).reshape(x_NL.shape)


def _neurokit_answers(clean_L: NDArray[np.float64], fs: float, method: str) -> list[int]:
    import neurokit2 as nk  # noqa: PLC0415 (as above)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = nk.ecg_findpeaks(clean_L, sampling_rate=fs, method=method)
        except (ValueError, IndexError, ZeroDivisionError, TypeError):
            return []  # its way of saying "no beats"
    answers: list[int] = np.asarray(found["ECG_R_Peaks"], np.int64).tolist()
    return answers


def _energy(x_NL: NDArray[np.float64], fs: float) -> NDArray[np.float64]:
    """Where the QRS complexes are: the squared slope in Pan and Tompkins' band, averaged without delay."""
    band_NL = in_band_both_ways(x_NL, fs)
    slope_NL = np.empty_like(band_NL)  # numpy.gradient, twice as steep, in half the time
    np.subtract(band_NL[:, 2:], band_NL[:, :-2], out=slope_NL[:, 1:-1])
    slope_NL[:, 0] = 2 * (band_NL[:, 1] - band_NL[:, 0])
    slope_NL[:, -1] = 2 * (band_NL[:, -1] - band_NL[:, -2])
    squared_NL = np.square(slope_NL, out=slope_NL)
    return np.asarray(uniform_filter1d(squared_NL, round(2 * HALF_QRS * fs)), np.float64)


def _climb(
    energy_NL: NDArray[np.float64], starts: Sequence[NDArray[np.int64]], reach: int
) -> list[NDArray[np.int64]]:
    """From each start to the top of the complex that is strongest within `reach` of it, and of itself."""
    rows_K, there_K = _flat(starts)
    here_K = np.full_like(there_K, -1)
    while (here_K != there_K).any():
        here_K = there_K
        strongest_K = _around(energy_NL, rows_K, here_K, reach, reach + 1).argmax(1)
        there_K = np.clip(here_K - reach + strongest_K, 0, energy_NL.shape[1] - 1)
    return _by_lead(here_K, starts)


def _distinct(beats: NDArray[np.int64], energy_L: NDArray[np.float64], fs: float) -> NDArray[np.int64]:
    """Each beat once and no T waves: the strongest first, and none that a stronger neighbour explains."""
    ranked = np.unique(beats)
    ranked = ranked[np.argsort(-energy_L[ranked], kind="stable")]
    strengths = energy_L[ranked]
    weakest = WEAK * median(strengths[: max(1, round(SLOWEST * len(energy_L) / fs))]) if len(ranked) else 0
    kept: list[tuple[int, float]] = []
    for beat, strength in zip(ranked.tolist(), strengths.tolist(), strict=True):
        if strength >= weakest and not any(
            (away := abs(beat - other)) < REFRACTORY * fs
            or (away < T_WAVE * fs and strength < stronger * HALF_SLOPE)
            for other, stronger in kept
        ):
            kept.append((beat, strength))
    return np.array(sorted(beat for beat, _ in kept), np.int64)


def _extrema(
    x_NL: NDArray[np.float64], beats: Sequence[NDArray[np.int64]], fs: float
) -> list[NDArray[np.int64]]:
    """Move each beat to the raw lead's largest departure from its surroundings' median."""
    half, around, length = round(HALF_QRS * fs), round(REFRACTORY * fs), x_NL.shape[1]
    rows_K, beats_K = _flat(beats)
    ordered_KW = np.sort(_around(x_NL, rows_K, beats_K, around, around, np.nan), axis=1)  # NaN comes last
    known_K = np.minimum(beats_K + around, length) - np.maximum(beats_K - around, 0)
    middle_K2 = np.stack([(known_K - 1) // 2, known_K // 2], axis=1)
    level_K1 = np.take_along_axis(ordered_KW, middle_K2, axis=1).sum(1, keepdims=True) / 2
    departure_KW = np.abs(_around(x_NL, rows_K, beats_K, half, half + 1) - level_K1)
    peaks_K = np.clip(beats_K - half + departure_KW.argmax(1), 0, length - 1)
    return [np.unique(peaks) for peaks in _by_lead(peaks_K, beats)]


def _around(
    x_NL: NDArray[np.float64],
    rows_K: NDArray[np.int64],
    places_K: NDArray[np.int64],
    before: int,
    behind: int,
    beyond: float | None = None,
) -> NDArray[np.float64]:
    """What surrounds some places, [K, before + behind]; `beyond` an end, or what is there if None."""
    ends = ((0, 0), (before, behind))
    padded_NL = np.pad(x_NL, ends, "edge") if beyond is None else np.pad(x_NL, ends, constant_values=beyond)
    return sliding_window_view(padded_NL, before + behind, axis=1)[rows_K, places_K]


def _flat(places: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of all leads behind one another: (the lead of each, the place)."""
    counts = [len(each) for each in places]
    none = np.zeros(0, np.int64)  # for no leads at all
    return np.repeat(np.arange(len(counts)), counts), np.concatenate([none, *places])


def _by_lead(places_K: NDArray[np.int64], like: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Undo `_flat`."""
    return np.split(places_K, np.cumsum([len(each) for each in like])[:-1]) if like else []
