"""R-peaks on raw lead I, or where they stand out most: Pan–Tompkins both ways, then the true extremum.

Source: paper, §Pretraining Corpus, Signal preprocessing. The detector (`pan_tompkins.py`) answers late and is
deaf for its first 0.3 s. So it runs forwards and backwards, and each answer moves to the peak of its complex
(`refine.py`).

Shapes: C leads of one record, L samples, n beats of one lead, N leads, each for itself.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from marecg.ecg.pan_tompkins import in_band, pan_tompkins
from marecg.ecg.refine import REFRACTORY, energy, refined
from marecg.ecg.signal import median

SHORTEST = 1.0
"""Seconds; below this the detector's filters have nothing to work on."""


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
    """Find the R-peaks of some leads of equal length, of each as `detect` would, in less time."""
    x_NL = np.asarray(leads_NL, np.float64)
    if x_NL.shape[1] < SHORTEST * fs:
        return [np.zeros(0, np.int64)] * len(x_NL)
    x_NL = _still_as_zero(x_NL)
    return _rpeaks(x_NL, energy(x_NL, fs), fs, method)


def detect_best(
    raw_CL: NDArray[np.floating], fs: float, method: str = "pantompkins1985"
) -> NDArray[np.int64]:
    """Find the R-peaks on the best of lead I, lead II and the magnitude of all leads.

    The best are those beside which the leads, all taken together, are quietest. So a beat that is too small
    to be found in one lead counts against that lead, however clearly the others stand out there.

    `raw_CL` is in mV, before any normalisation, and has I and II first; the rest is as for `detect`.
    """
    return detect_best_each(np.asarray(raw_CL)[None], fs, method)[0]


def detect_best_each(
    raw_NCL: NDArray[np.floating], fs: float, method: str = "pantompkins1985"
) -> list[NDArray[np.int64]]:
    """Find the R-peaks of some records of equal length, of each as `detect_best` would, in less time."""
    x_NCL = np.asarray(raw_NCL, np.float64)
    if x_NCL.shape[-1] < SHORTEST * fs:
        return [np.zeros(0, np.int64)] * len(x_NCL)
    lanes, energies, totals = zip(*(_lanes(x_CL, fs) for x_CL in x_NCL), strict=True)
    beats = _rpeaks(_still_as_zero(np.concatenate(lanes)), np.concatenate(energies), fs, method)
    return [
        max(beats[first : first + 3], key=lambda peaks: _contrast(energy_L, peaks, fs))
        for first, energy_L in zip(range(0, len(beats), 3), totals, strict=True)
    ]


def _lanes(
    x_CL: NDArray[np.float64], fs: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Lead I, lead II and the magnitude of all leads [3, L]; their energy [3, L]; that of all leads [L]."""
    if not np.isfinite(x_CL).all():
        x_CL = np.zeros_like(x_CL)
    magnitude_L = np.linalg.norm(x_CL - median(x_CL)[:, None], axis=0)
    energy_of_all = energy(np.vstack([x_CL, magnitude_L]), fs)
    energy_CL = energy_of_all[:-1]
    mean_C1 = energy_CL.mean(1, keepdims=True)
    total_L = np.divide(energy_CL, mean_C1, out=np.zeros_like(energy_CL), where=mean_C1 > 0).sum(0)
    return np.stack([x_CL[0], x_CL[1], magnitude_L]), energy_of_all[[0, 1, -1]], total_L


def _still_as_zero(x_NL: NDArray[np.float64]) -> NDArray[np.float64]:
    """Zero for leads that hold but one value, or some that isn't a number: nothing is found there."""
    lowest_N1, highest_N1 = x_NL.min(axis=1, keepdims=True), x_NL.max(axis=1, keepdims=True)
    moves_N1 = (lowest_N1 < highest_N1) & np.isfinite(lowest_N1) & np.isfinite(highest_N1)
    return np.where(moves_N1, x_NL, 0)


def _rpeaks(
    x_NL: NDArray[np.float64], energy_NL: NDArray[np.float64], fs: float, method: str
) -> list[NDArray[np.int64]]:
    """The detector's answers both ways, refined."""
    clean_NL = in_band(x_NL, fs) if method == "pantompkins1985" else _neurokit_clean(x_NL, fs, method)
    forwards, backwards = _answers(clean_NL, fs, method), _answers(clean_NL[:, ::-1], fs, method)
    last = x_NL.shape[1] - 1
    answers = [
        np.array([*forth, *(last - each for each in back)], np.int64)
        for forth, back in zip(forwards, backwards, strict=True)
    ]
    return refined(answers, x_NL, energy_NL, fs)


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


def _answers(clean_NL: NDArray[np.float64], fs: float, method: str) -> list[list[int]]:
    if method == "pantompkins1985":
        return pan_tompkins(clean_NL, fs)
    return [_neurokit_answers(clean_L, fs, method) for clean_L in clean_NL]


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
            peaks = nk.ecg_findpeaks(clean_L, sampling_rate=fs, method=method)
        except (ValueError, IndexError, ZeroDivisionError, TypeError):
            return []  # its way of saying "no beats"
    answers: list[int] = np.asarray(peaks["ECG_R_Peaks"], np.int64).tolist()
    return answers
