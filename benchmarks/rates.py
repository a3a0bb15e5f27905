"""Evaluate heart rates on labelled records, and R-peaks on beats that cardiologists marked in LUDB.

    python -m benchmarks rpeaks --ludb ludb/data --folder ptb-xl chapman code15

Shapes: N beats, K leads.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import wfdb
from numpy.typing import NDArray

from benchmarks.delineation import marked_beats
from benchmarks.rpeaks import Annotated, Peaks, score
from ecg_records.measurements.intervals import measure
from ecg_records.measurements.median_beat import FS
from ecg_records.measurements.rate import LEAST_BEATS, beats_per_minute, detect_again
from ecg_records.measurements.rpeaks import detect, detect_best
from ecg_records.readers.inputs import find_inputs, read_mended
from ecg_records.signal.samples import resample
from marecg.errors import InputError

LABELS = {
    "NORM": ("scp:NORM",),
    "sinus bradycardia": ("scp:SBRAD", "426177001"),
    "atrial fibrillation": ("scp:AFIB", "164889003"),
}
"""Codes of the records in each row. A record may be in several rows."""
SLOW = 50
"""Beats per minute below which a record is in the row of slow records."""
FASTER = 1.25
"""Ratio of the rate in lead I to the rate in all leads, above which the record is counted."""
DISAGREE = (0.1, 0.15)
"""Relative differences between the two detectors, above which the record is counted."""


def ludb(folder: Path) -> Iterator[str]:
    """Yield a line per detector: sensitivity and predictive value on the beats marked in most leads."""
    headers = sorted(folder.glob("*.hea"), key=lambda path: int(path.stem))
    records = [wfdb.rdrecord(str(header.with_suffix(""))) for header in headers]
    beats = [np.array(marked_beats(header), np.int64) for header in headers]
    for name, detector in (("first", detect_best), ("second", detect_again)):
        annotated: list[Annotated] = []
        answers: list[Peaks] = []
        for record, marked in zip(records, beats, strict=True):
            found = detector(record.p_signal.T, record.fs)
            inside = found[(found >= marked[0] - FS // 4) & (found <= marked[-1] + FS // 4)]
            answers.append(inside)  # the first and last beats have no marks in LUDB
            annotated.append((np.zeros(record.sig_len), marked))
        scored = score(_answering(answers), annotated)
        yield (
            f"LUDB, {name} detector: {sum(map(len, beats))} beats, sensitivity {scored.sensitivity:.4f}, "
            f"predictive value {scored.predictive_value:.4f}"
        )


def _answering(answers: Sequence[Peaks]) -> Callable[[NDArray[np.float64]], Peaks]:
    """Return a detector that returns the next of the answers at each call."""
    remaining = iter(answers)
    return lambda _: next(remaining)


def by_label(folders: Sequence[Path], limit: int) -> Iterator[str]:
    """Yield a line per label: number of records, records without a rate, and disagreements of detectors."""
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    for folder in folders:
        for name, candidate in sorted(find_inputs([folder]).items())[:limit]:
            try:
                record = read_mended(candidate, seconds=10)
            except InputError as error:
                yield f"{name}: {error}"
                continue
            counts = _counted(record.x_KL, record.fs, record.leads)
            labels = [label for label, codes in LABELS.items() if {*codes} & {*record.codes}]
            slow = ["below 50/min"] if counts["rate"] < SLOW else []
            for label in (*labels, *slow, "all"):
                rows[label].append(counts)
    for label, records in rows.items():
        table = {key: np.array([counts[key] for counts in records]) for key in records[0]}
        disagree = [int((table["difference"] > share).sum()) for share in DISAGREE]
        fast = int((table["lead_i"] > FASTER * table["rate"]).sum())
        yield (
            f"{label}: {len(records)} records, {int(np.isnan(table['rate']).sum())} without a rate, "
            f"detectors differ by 10 % in {disagree[0]} and 15 % in {disagree[1]}, "
            f"lead I alone is above 1.25 × in {fast}"
        )


def _counted(x_KL: NDArray[np.float32], fs: float, leads: Sequence[str]) -> dict[str, float]:
    """Return a record's rate (NaN if it is missing), its rate in lead I, and the detectors' difference."""
    mv_KL = np.nan_to_num(resample(x_KL, fs, FS))
    lead_L = mv_KL[leads.index("I")] if "I" in leads else mv_KL[0]
    rates = []
    for peaks in (detect_best(mv_KL, FS), detect_again(mv_KL, FS), detect(lead_L, FS)):
        rates.append(beats_per_minute(peaks, FS) if len(peaks) >= LEAST_BEATS else np.nan)
    rate = measure(mv_KL, FS, leads).rate
    difference = abs(rates[0] - rates[1]) / min(rates[:2])
    return {"rate": np.nan if rate is None else rate, "lead_i": rates[2], "difference": difference}
