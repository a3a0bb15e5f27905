"""Evaluate R-peak detectors on synthetic records, whose beats are known: NeuroKit2's, and our refinements.

    python -m benchmarks rpeaks [--records 400]

Targets: sensitivity ≥ 0.99, positive predictive value ≥ 0.975, 95th percentile of |lag| ≤ 15 samples.
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
"""Maximum distance in samples (150 ms) between a beat and a detected peak that matches it (EC57)."""
EDGE = 25
"""Samples at either end of a record in which a missed beat isn't counted, because its complex may be cut."""

Peaks = NDArray[np.int64]
Annotated = tuple[NDArray[np.float64], Peaks]


@dataclass(frozen=True)
class Score:
    """Scores of a detector. The percentiles of the lag are in samples."""

    sensitivity: float
    predictive_value: float
    median_lag: float
    p95_lag: float


def annotated(records: int, seed: int = 0) -> list[Annotated]:
    """Return lead I of synthetic records with all diagnoses, and the samples of their R-peaks."""
    shares = {name: finding.weight for name, finding in DIAGNOSES.items()}
    drawn = [drawn_record(shares, np.random.default_rng((seed, n)), noise=Noise()) for n in range(records)]
    return [(record.leads_mv[0, :WINDOW], within(r_samples(record), WINDOW)) for record in drawn]


def find_raw(lead: NDArray[np.floating], fs: float, method: str = "pantompkins1985") -> Peaks:
    """Return the peaks of NeuroKit2's detector without refinement, or [] if it finds none."""
    clean = nk.ecg_clean(np.asarray(lead, np.float64), sampling_rate=fs, method=method)
    try:
        return np.array(nk.ecg_findpeaks(clean, sampling_rate=fs, method=method)["ECG_R_Peaks"], np.int64)
    except (ValueError, IndexError, ZeroDivisionError, TypeError):  # raised if there are no beats
        return np.zeros(0, np.int64)


def within(peaks: Peaks, length: int) -> Peaks:
    """Return the peaks in the first `length` samples."""
    return peaks[peaks < length]


def score(detector: Callable[[NDArray[np.float64]], Peaks], records: Iterable[Annotated]) -> Score:
    """Match each beat with the nearest detected peak, and compute the scores."""
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
    """Yield the name and the scores of each detector."""
    detectors: dict[str, Callable[[NDArray[np.float64]], Peaks]] = {
        "pantompkins1985, as it is": lambda lead: find_raw(lead, FS),
        "pantompkins1985, refined": lambda lead: detect(lead, FS),
        "neurokit, as it is": lambda lead: find_raw(lead, FS, "neurokit"),
        "neurokit, refined": lambda lead: detect(lead, FS, "neurokit"),
    }
    for name, detector in detectors.items():
        yield name, score(detector, drawn)


def table(records: int = 400) -> Iterator[str]:
    """Yield the lines of a table of scores."""
    drawn = annotated(records)
    yield f"{len(drawn)} records, {sum(len(beats) for _, beats in drawn)} beats"
    yield f"{'':28}{'sensitivity':>12}{'predictive':>12}{'median lag':>12}{'p95 |lag|':>12}"
    for name, s in scores(drawn):
        shares = f"{s.sensitivity:12.4f}{s.predictive_value:12.4f}"
        yield f"{name:28}{shares}{s.median_lag:12.0f}{s.p95_lag:12.0f}"
