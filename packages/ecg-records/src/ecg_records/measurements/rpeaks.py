"""R-peak detection, from all leads together or from one lead as in the paper.

The paper (§Pretraining Corpus, Signal preprocessing) has Pan–Tompkins on raw lead I, which answers late and
is deaf for its first 0.3 s (`pan_tompkins.py`). So it runs forwards and backwards, and each answer moves to
the peak of its complex (`refine.py`).

Shapes: C leads of one record, L samples, n beats of one lead, N leads, each for itself.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements.coincidence import coincident_beats
from ecg_records.measurements.refine import energy, refined
from ecg_records.signal.filters import in_band, pan_tompkins

SHORTEST = 1.0
"""Seconds; below this the detector's filters have nothing to work on."""


def detect(lead_i_mV: NDArray[np.floating], fs: float, method: str = "pantompkins1985") -> NDArray[np.int64]:
    """Detect R-peaks of raw lead I.

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
    """Detect the R-peaks of several leads of equal length, each by itself, faster than `detect` in turn."""
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


def detect_best(raw_CL: NDArray[np.floating], fs: float) -> NDArray[np.int64]:
    """Detect the R-peaks that most leads of a record share (`coincidence.py`): the default detector.

    `raw_CL` is in mV, before any normalisation, in any order; the result is as for `detect`.
    """
    return detect_best_each(np.asarray(raw_CL)[None], fs)[0]


def detect_best_each(raw_NCL: NDArray[np.floating], fs: float) -> list[NDArray[np.int64]]:
    """Detect the R-peaks of several records of equal length, faster than `detect_best` in turn."""
    if raw_NCL.shape[-1] < SHORTEST * fs:
        return [np.zeros(0, np.int64)] * len(raw_NCL)
    return coincident_beats(raw_NCL, fs)


def still_as_zero(x_NL: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the leads, with zeros for those that are constant or not finite, in which nothing is found."""
    lowest_N1, highest_N1 = x_NL.min(axis=1, keepdims=True), x_NL.max(axis=1, keepdims=True)
    moves_N1 = (lowest_N1 < highest_N1) & np.isfinite(lowest_N1) & np.isfinite(highest_N1)
    return np.where(moves_N1, x_NL, 0)


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
