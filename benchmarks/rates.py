"""Heart rates of real records by their labels, and R-peaks against those that cardiologists marked in LUDB.

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
"""Codes of a row's records; a record may be in several rows."""
SLOW, FASTER, APART = 50, 1.25, (0.1, 0.15)
"""Beats per minute below which a record is in a row of its own; what lead I alone may count, and by what the
two detectors may differ."""


def ludb(folder: Path) -> Iterator[str]:
    """Sensitivity and predictive value of both detectors on beats that most leads mark."""
    headers = sorted(folder.glob("*.hea"), key=lambda path: int(path.stem))
    records = [wfdb.rdrecord(str(header.with_suffix(""))) for header in headers]
    beats = [np.array(marked_beats(header), np.int64) for header in headers]
    for name, detector in (("first", detect_best), ("second", detect_again)):
        annotated: list[Annotated] = []
        answers: list[Peaks] = []
        for record, marked in zip(records, beats, strict=True):
            found = detector(record.p_signal.T, record.fs)
            inside = found[(found >= marked[0] - FS // 4) & (found <= marked[-1] + FS // 4)]
            answers.append(inside)  # LUDB leaves the first and the last beats unmarked
            annotated.append((np.zeros(record.sig_len), marked))
        one = score(_answering(answers), annotated)
        yield (
            f"LUDB, {name} detector: {sum(map(len, beats))} beats, sensitivity {one.sensitivity:.4f}, "
            f"predictive value {one.predictive_value:.4f}"
        )


def _answering(answers: Sequence[Peaks]) -> Callable[[NDArray[np.float64]], Peaks]:
    """A detector that gives one answer after the other."""
    left = iter(answers)
    return lambda _: next(left)


def by_label(folders: Sequence[Path], limit: int) -> Iterator[str]:
    """Per label the records, those without a rate, and how often detectors disagree."""
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
        table = {key: np.array([one[key] for one in records]) for key in records[0]}
        apart = [int((table["apart"] > share).sum()) for share in APART]
        fast = int((table["lead_i"] > FASTER * table["rate"]).sum())
        yield (
            f"{label}: {len(records)} records, {int(np.isnan(table['rate']).sum())} without a rate, "
            f"detectors differ by 10 % in {apart[0]} and 15 % in {apart[1]}, "
            f"lead I alone is above 1.25 × in {fast}"
        )


def _counted(x_KL: NDArray[np.float32], fs: float, leads: Sequence[str]) -> dict[str, float]:
    """A record's rate, NaN for a dash; that of lead I alone, and by which share the two detectors differ."""
    mv_KL = np.nan_to_num(resample(x_KL, fs, FS))
    one = mv_KL[leads.index("I")] if "I" in leads else mv_KL[0]
    rates = []
    for peaks in (detect_best(mv_KL, FS), detect_again(mv_KL, FS), detect(one, FS)):
        rates.append(beats_per_minute(peaks, FS) if len(peaks) >= LEAST_BEATS else np.nan)
    told = measure(mv_KL, FS, leads).rate
    apart = abs(rates[0] - rates[1]) / min(rates[:2])
    return {"rate": np.nan if told is None else told, "lead_i": rates[2], "apart": apart}
