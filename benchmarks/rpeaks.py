"""R-peaks: NeuroKit2's detectors as they are, and refined, on synthetic records whose every beat is known.

    python -m benchmarks rpeaks [--records 400]

To be reached: sensitivity ≥ 0.99, positive predictive value ≥ 0.975, 95th percentile of |lag| ≤ 15 samples.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import neurokit2 as nk
import numpy as np
from numpy.typing import NDArray

from ecg_records.measurements.rpeaks import detect
from ecg_synth import DIAGNOSES, Noise, drawn_record, r_samples

FS, WINDOW = 500, 4700
TOLERANCE = 75
"""Samples (150 ms) within which an answer is taken to mean a beat (EC57)."""
EDGE = 25
"""Samples at either end in which half a complex may be missing: beats there may be found but need not be."""

Peaks = NDArray[np.int64]
Annotated = tuple[NDArray[np.float64], Peaks]


@dataclass(frozen=True)
class Score:
    """Shares of beats found and of answers that are beats; percentiles of the lag in samples."""

    sensitivity: float
    predictive_value: float
    median_lag: float
    p95_lag: float


def annotated(records: int, seed: int = 0) -> list[Annotated]:
    """Draw lead I of synthetic records of all diagnoses, and the samples of their R-peaks."""
    shares = {name: finding.weight for name, finding in DIAGNOSES.items()}
    drawn = [drawn_record(shares, np.random.default_rng((seed, n)), noise=Noise()) for n in range(records)]
    return [(record.leads_mv[0, :WINDOW], within(r_samples(record), WINDOW)) for record in drawn]


def find_raw(lead: NDArray[np.floating], fs: float, method: str = "pantompkins1985") -> Peaks:
    """Run NeuroKit2's detector unchanged: indices that lag the R-peaks; [] if it finds none."""
    clean = nk.ecg_clean(np.asarray(lead, np.float64), sampling_rate=fs, method=method)
    try:
        return np.array(nk.ecg_findpeaks(clean, sampling_rate=fs, method=method)["ECG_R_Peaks"], np.int64)
    except (ValueError, IndexError, ZeroDivisionError, TypeError):  # its way of saying "no beats"
        return np.zeros(0, np.int64)


def within(peaks: Peaks, length: int) -> Peaks:
    """The beats of the window."""
    return peaks[peaks < length]


def score(detector: Callable[[NDArray[np.float64]], Peaks], records: Iterable[Annotated]) -> Score:
    """Match answers to beats, nearest first come, and count."""
    found = missed = false = 0
    lags: list[int] = []
    for lead, beats in records:
        answers, used = detector(lead), set[int]()
        for beat in beats.tolist():
            nearest = int(np.argmin(np.abs(answers - beat))) if len(answers) else -1
            if nearest >= 0 and nearest not in used and abs(int(answers[nearest]) - beat) <= TOLERANCE:
                used.add(nearest)
                lags.append(int(answers[nearest]) - beat)
            elif EDGE < beat < len(lead) - EDGE:
                missed += 1
        found += len(used)
        false += len(answers) - len(used)
    return Score(
        found / (found + missed),
        found / (found + false),
        float(np.median(lags)),
        float(np.percentile(np.abs(lags), 95)),
    )


def scores(drawn: Sequence[Annotated]) -> Iterator[tuple[str, Score]]:
    """Score every detector, each by its name."""
    detectors: dict[str, Callable[[NDArray[np.float64]], Peaks]] = {
        "pantompkins1985, as it is": lambda lead: find_raw(lead, FS),
        "pantompkins1985, refined": lambda lead: detect(lead, FS),
        "neurokit, as it is": lambda lead: find_raw(lead, FS, "neurokit"),
        "neurokit, refined": lambda lead: detect(lead, FS, "neurokit"),
    }
    for name, detector in detectors.items():
        yield name, score(detector, drawn)


def table(records: int = 400) -> Iterator[str]:
    """The lines of a table of the scores as they come."""
    drawn = annotated(records)
    yield f"{len(drawn)} records, {sum(len(beats) for _, beats in drawn)} beats"
    yield f"{'':28}{'sensitivity':>12}{'predictive':>12}{'median lag':>12}{'p95 |lag|':>12}"
    for name, s in scores(drawn):
        shares = f"{s.sensitivity:12.4f}{s.predictive_value:12.4f}"
        yield f"{name:28}{shares}{s.median_lag:12.0f}{s.p95_lag:12.0f}"
