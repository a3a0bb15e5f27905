"""R-peaks on raw lead I, or where they stand out most: Pan–Tompkins both ways, then the true extremum.

Source: paper, §Pretraining Corpus, Signal preprocessing. The detector (`pan_tompkins.py`) answers with the
maximum of a trailing moving average, some 20–50 samples behind the R-peak at 500 Hz, and is deaf for its
first 0.3 s. So it runs forwards and backwards, and each answer moves to the peak of its complex.

Shapes: C leads, L samples, n beats.
"""

import warnings

import numpy as np
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
    x_L = np.asarray(lead_i_mV, np.float64)
    if x_L.ndim != 1 or len(x_L) < SHORTEST * fs or not np.isfinite(x_L).all() or np.ptp(x_L) == 0:
        return np.zeros(0, np.int64)
    return _refined(x_L, _energy(x_L, fs), fs, method)


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
    energy_CL, energy_of_magnitude_L = energy_of_all[:-1], energy_of_all[-1]
    lanes = ((x_CL[0], energy_CL[0]), (x_CL[1], energy_CL[1]), (magnitude_L, energy_of_magnitude_L))
    found = [
        _refined(lane_L, energy_L, fs, method) if np.ptp(lane_L) else np.zeros(0, np.int64)
        for lane_L, energy_L in lanes
    ]
    mean_C1 = energy_CL.mean(1, keepdims=True)
    energy_L = np.divide(energy_CL, mean_C1, out=np.zeros_like(energy_CL), where=mean_C1 > 0).sum(0)
    return max(found, key=lambda peaks: _contrast(energy_L, peaks, fs))


def _refined(
    x_L: NDArray[np.float64], energy_L: NDArray[np.float64], fs: float, method: str
) -> NDArray[np.int64]:
    """The detector's answers both ways, each moved to the extremum of its complex."""
    clean_L = in_band(x_L, fs) if method == "pantompkins1985" else _neurokit_clean(x_L, fs, method)
    forwards, backwards = _answers(clean_L, fs, method), _answers(clean_L[::-1], fs, method)
    reach, last = round(LAG * fs), len(x_L) - 1
    beats = {_climb(energy_L, answer, reach) for answer in (*forwards, *(last - each for each in backwards))}
    return _extrema(x_L, _distinct(beats, energy_L, fs), fs)


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
    clean_L = _neurokit_clean(np.asarray(lead_i_mV, np.float64), fs, method)
    return np.array(_neurokit_answers(clean_L, fs, method), np.int64)


def _answers(clean_L: NDArray[np.float64], fs: float, method: str) -> list[int]:
    if method == "pantompkins1985":
        return pan_tompkins(clean_L, fs)
    return _neurokit_answers(clean_L, fs, method)


def _neurokit_clean(x_L: NDArray[np.float64], fs: float, method: str) -> NDArray[np.float64]:
    import neurokit2 as nk  # noqa: PLC0415 (half a second that whoever looks for no beats saves)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(nk.ecg_clean(x_L, sampling_rate=fs, method=method), np.float64)


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


def _energy(x_L: NDArray[np.float64], fs: float) -> NDArray[np.float64]:
    """Where the QRS complexes are: the squared slope in Pan and Tompkins' band, averaged without delay."""
    slope_L = np.gradient(in_band_both_ways(x_L, fs), axis=-1)
    return np.asarray(uniform_filter1d(slope_L**2, round(2 * HALF_QRS * fs)), np.float64)


def _climb(energy_L: NDArray[np.float64], start: int, reach: int) -> int:
    """The top of the complex that is strongest within `reach` of `start`, and of itself."""
    here = -1
    while here != start:
        here = start
        first = max(here - reach, 0)
        start = first + int(energy_L[first : here + reach + 1].argmax())
    return here


def _distinct(beats: set[int], energy_L: NDArray[np.float64], fs: float) -> NDArray[np.int64]:
    """Each beat once and no T waves: the strongest first, and none that a stronger neighbour explains."""
    energy = {beat: float(energy_L[beat]) for beat in beats}
    ranked = sorted(beats, key=lambda each: -energy[each])
    sure = ranked[: max(1, round(SLOWEST * len(energy_L) / fs))]
    weakest = WEAK * np.median(energy_L[sure]) if sure else 0.0
    kept: list[int] = []
    for beat in ranked:
        near = [other for other in kept if abs(beat - other) < T_WAVE * fs]
        explained = any(
            abs(beat - other) < REFRACTORY * fs or energy[beat] < energy[other] * HALF_SLOPE for other in near
        )
        if energy[beat] >= weakest and not explained:
            kept.append(beat)
    return np.array(sorted(kept), np.int64)


def _extrema(x_L: NDArray[np.float64], beats: NDArray[np.int64], fs: float) -> NDArray[np.int64]:
    """Move each beat to the raw lead's largest departure from its surroundings' median."""
    half, around = round(HALF_QRS * fs), round(REFRACTORY * fs)
    peaks = []
    for beat in beats.tolist():
        level = median(x_L[max(beat - around, 0) : beat + around])
        start = max(beat - half, 0)
        peaks.append(start + int(np.abs(x_L[start : beat + half + 1] - level).argmax()))
    return np.unique(np.array(peaks, np.int64))
