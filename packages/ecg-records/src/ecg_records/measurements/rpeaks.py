"""Detect R-peaks in all leads together, or in a single lead as in the MAR-ECG paper.

The paper (§Pretraining Corpus, Signal preprocessing) runs the Pan–Tompkins detector on raw lead I. Its
detections are delayed, and it finds no beat in the first 0.3 s (`signal/filters.py`). So the detector runs
forwards and backwards here, and each detection is moved to the peak of its QRS complex (`refine.py`).

Shapes: C leads of one record, L samples, n beats of one lead, N leads that are processed independently.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements.coincidence import coincident_beats
from ecg_records.measurements.refine import energy, refined
from ecg_records.signal.filters import in_band, pan_tompkins

SHORTEST = 1.0
"""Minimum length of a signal in s, because the filters need more samples than a shorter signal has."""


def detect(lead_i_mV: NDArray[np.floating], fs: float, method: str = "pantompkins1985") -> NDArray[np.int64]:
    """Return the R-peaks of raw lead I.

    Args:
        lead_i_mV: [L] in mV, before any normalisation.
        fs: samples per second.
        method: name of a detector in NeuroKit2, `pantompkins1985` (as in the paper) or `neurokit`.

    Returns:
        Ascending sample indices, int64 [n]. The result is empty for a flat line, a lead with
        NaN or infinity, or less than 1 s.
    """
    return detect_each(np.asarray(lead_i_mV)[None], fs, method)[0]


def detect_each(
    leads_NL: NDArray[np.floating], fs: float, method: str = "pantompkins1985"
) -> list[NDArray[np.int64]]:
    """Return the R-peaks of independent leads of equal length, faster than calling `detect` for each lead."""
    x_NL = np.asarray(leads_NL, np.float64)
    if x_NL.shape[1] < SHORTEST * fs:
        return [np.zeros(0, np.int64)] * len(x_NL)
    x_NL = still_as_zero(x_NL)
    clean_NL = in_band(x_NL, fs) if method == "pantompkins1985" else _neurokit_clean(x_NL, fs, method)
    forwards, backwards = _answers(clean_NL, fs, method), _answers(clean_NL[:, ::-1], fs, method)
    last = x_NL.shape[1] - 1
    answers = [
        np.array([*forth, *(last - peak for peak in back)], np.int64)
        for forth, back in zip(forwards, backwards, strict=True)
    ]
    return refined(answers, x_NL, energy(x_NL, fs), fs)


def detect_as_neurokit(leads_NL: NDArray[np.floating], fs: float) -> list[NDArray[np.int64]]:
    """Return the R-peaks of independent leads exactly as NeuroKit2's Pan–Tompkins detector returns them."""
    x_NL = np.asarray(leads_NL, np.float64)
    if x_NL.shape[1] < SHORTEST * fs:
        return [np.zeros(0, np.int64)] * len(x_NL)
    clean_NL = _neurokit_clean(still_as_zero(x_NL), fs, "pantompkins1985")
    peaks = (_neurokit_answers(clean_L, fs, "pantompkins1985") for clean_L in clean_NL)
    return [np.array(sorted(peaks_n), np.int64) for peaks_n in peaks]


def detect_best(raw_CL: NDArray[np.floating], fs: float) -> NDArray[np.int64]:
    """Return the R-peaks of a record by the default detector, which uses all leads together (`coincidence`).

    Args:
        raw_CL: signals in mV before any normalisation, with leads in any order.
        fs: samples per second.

    Returns:
        Ascending sample indices, as from `detect`.
    """
    return detect_best_each(np.asarray(raw_CL)[None], fs)[0]


def detect_best_each(raw_NCL: NDArray[np.floating], fs: float) -> list[NDArray[np.int64]]:
    """Return the R-peaks of records of equal length, faster than calling `detect_best` for each record."""
    if raw_NCL.shape[-1] < SHORTEST * fs:
        return [np.zeros(0, np.int64)] * len(raw_NCL)
    return coincident_beats(raw_NCL, fs)


def still_as_zero(x_NL: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace each lead that is constant or contains NaN or infinity by zeros, so that it has no beats."""
    lowest_N1, highest_N1 = x_NL.min(axis=1, keepdims=True), x_NL.max(axis=1, keepdims=True)
    moves_N1 = (lowest_N1 < highest_N1) & np.isfinite(lowest_N1) & np.isfinite(highest_N1)
    return np.where(moves_N1, x_NL, 0)


def _answers(clean_NL: NDArray[np.float64], fs: float, method: str) -> list[list[int]]:
    if method == "pantompkins1985":
        return pan_tompkins(clean_NL, fs)
    return [_neurokit_answers(clean_L, fs, method) for clean_L in clean_NL]


def _neurokit_clean(x_NL: NDArray[np.float64], fs: float, method: str) -> NDArray[np.float64]:
    import neurokit2 as nk  # noqa: PLC0415 (takes half a second, and most callers need no beats)

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
            return []  # NeuroKit2 raises these errors if it finds no beat
    answers: list[int] = np.asarray(peaks["ECG_R_Peaks"], np.int64).tolist()
    return answers
