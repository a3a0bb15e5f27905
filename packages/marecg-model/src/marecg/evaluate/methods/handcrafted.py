"""The hand-crafted baseline: what an ECG machine measures, and each lead's distribution and spectrum.

Intervals and amplitudes come from NeuroKit2 (R-peaks, then the `prominence` delineation of Emrich et al.
2024); a record where that fails has zeros there, and the share of its beats that were delineated says so.
Shapes: C leads, L samples at 500 Hz, H frequencies, E bands, N beats, F features.
"""

import hashlib
import warnings
from itertools import pairwise
from pathlib import Path

import neurokit2 as nk
import numpy as np
from numpy.typing import NDArray
from scipy.signal import welch

from marecg.base.config import LEADS
from marecg.evaluate.methods.method import Method, Signals
from marecg.evaluate.tasks.task import FS

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
BANDS_HZ = (0.5, 2, 5, 10, 20, 40, 80)
RHYTHM_LEAD = LEADS.index("II")
WAVES = (
    "P_Onsets",
    "P_Peaks",
    "P_Offsets",
    "Q_Peaks",
    "R_Onsets",
    "R_Offsets",
    "S_Peaks",
    "T_Peaks",
    "T_Offsets",
)
INTERVALS = {
    "P": ("P_Onsets", "P_Offsets"),
    "PR": ("P_Onsets", "R_Onsets"),
    "QRS": ("R_Onsets", "R_Offsets"),
    "QT": ("R_Onsets", "T_Offsets"),
    "ST": ("R_Offsets", "T_Peaks"),
}
AMPLITUDES = ("P_Peaks", "Q_Peaks", "R_Peaks", "S_Peaks", "T_Peaks")
ST_LEVEL_S = 0.06
"""Where the ST level is read: seconds after the end of QRS."""
Floats = NDArray[np.float64]


def handcrafted() -> Method:
    """The baseline as a method; its hash follows from this file, so a change is never served from a cache."""
    sha256 = hashlib.sha256(Path(__file__).read_bytes() + nk.__version__.encode()).hexdigest()
    return Method("hand-crafted", sha256, _measured, apart=True)


def _measured(signals: Signals) -> Floats:
    return np.stack([measure(x_CL) for x_CL in signals])


def measure(signal_CL: NDArray[np.float32]) -> Floats:
    """All features of one record in mV: float64 [F], finite whatever the record is."""
    x_CL = signal_CL.astype(np.float64)
    beats = delineate(x_CL[RHYTHM_LEAD])
    parts = (
        _distribution(x_CL),
        _spectrum(x_CL),
        _rhythm(beats["R_Peaks"]),
        _intervals(beats),
        _levels(x_CL, beats),
    )
    return np.nan_to_num(np.concatenate(parts), posinf=0.0, neginf=0.0)


def delineate(lead_L: Floats) -> dict[str, Floats]:
    """Each wave's sample per beat, NaN where it wasn't found: `R_Peaks` and `WAVES`, all [N]; N may be 0."""
    nothing = dict.fromkeys(("R_Peaks", *WAVES), np.zeros(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clean_L = nk.ecg_clean(lead_L, sampling_rate=FS)
            peaks = np.asarray(nk.ecg_peaks(clean_L, sampling_rate=FS)[1]["ECG_R_Peaks"], np.int64)
            _, waves = nk.ecg_delineate(clean_L, peaks, sampling_rate=FS, method="prominence")
        except (ValueError, IndexError, KeyError, ZeroDivisionError, TypeError):
            return nothing  # its way of saying that there are no beats
    samples_of = {name: np.asarray(waves[f"ECG_{name}"], np.float64) for name in WAVES}
    if any(len(samples) != len(peaks) for samples in samples_of.values()):
        return nothing
    return {"R_Peaks": peaks.astype(np.float64)} | samples_of


def _distribution(x_CL: Floats) -> Floats:
    centred_CL = x_CL - np.median(x_CL, axis=1, keepdims=True)
    return np.concatenate([np.percentile(centred_CL, PERCENTILES, axis=1).ravel(), centred_CL.std(axis=1)])


def _spectrum(x_CL: Floats) -> Floats:
    """Log power per lead and band."""
    hz, power_CH = welch(x_CL, fs=FS, nperseg=min(2 * FS, x_CL.shape[1]))
    power_EC = [power_CH[:, (hz >= low) & (hz < high)].sum(axis=1) for low, high in pairwise(BANDS_HZ)]
    return np.asarray(np.log(np.add(power_EC, 1e-9)).ravel(), np.float64)


def _rhythm(peaks: Floats) -> Floats:
    """Beats, and of the RR intervals in s: mean, sd, shortest, longest, RMSSD, share of steps above 50 ms."""
    rr = np.diff(peaks) / FS
    if len(rr) < 2:
        return np.array([len(peaks), *[0.0] * 6])
    steps = np.diff(rr)
    rmssd = np.sqrt(np.mean(steps**2))
    return np.array([len(peaks), rr.mean(), rr.std(), rr.min(), rr.max(), rmssd, np.mean(abs(steps) > 0.05)])


def _intervals(beats: dict[str, Floats]) -> Floats:
    """Per interval the median in s and the share of beats that have it; then QTc (Bazett)."""
    lengths = {name: (beats[end] - beats[start]) / FS for name, (start, end) in INTERVALS.items()}
    rr = np.diff(beats["R_Peaks"]) / FS
    qtc = _median(lengths["QT"]) / np.sqrt(np.median(rr)) if len(rr) else 0.0
    shares = [np.isfinite(length).mean() if len(length) else 0.0 for length in lengths.values()]
    return np.array([*map(_median, lengths.values()), *shares, qtc])


def _levels(x_CL: Floats, beats: dict[str, Floats]) -> Floats:
    """Per lead the median height of every wave and of the ST level above the PR baseline: [6 · C]."""
    places = [*(beats[name] for name in AMPLITUDES), beats["R_Offsets"] + ST_LEVEL_S * FS]
    base_CN = _at(x_CL, beats["R_Onsets"])
    return np.concatenate([[_median(level) for level in _at(x_CL, place) - base_CN] for place in places])


def _at(x_CL: Floats, samples: Floats) -> Floats:
    """The leads' values at these samples, [C, N]; NaN where the sample is unknown or outside."""
    inside = np.isfinite(samples) & (samples >= 0) & (samples < x_CL.shape[1])
    values_CN = np.full((len(x_CL), len(samples)), np.nan)
    values_CN[:, inside] = x_CL[:, samples[inside].astype(np.int64)]
    return values_CN


def _median(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else 0.0
