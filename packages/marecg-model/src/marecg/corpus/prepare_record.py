"""Preparation of records: read, check, resample and cut the signals, then find the beats.

Shapes: K leads as found, C leads, L samples, n records of a block.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.machine import MEASURED
from ecg_records.measurements.rpeaks import detect_as_neurokit, detect_best_each, detect_each
from ecg_records.record import Candidate, Record
from ecg_records.signal.leads import LEADS
from ecg_records.signal.quality import CONTRADICT, mended, refuse_damaged, unmended
from ecg_records.signal.samples import resample
from marecg.corpus.config import CorpusConfig
from marecg.errors import Reason, RecordError, located
from marecg.model.stored_signal import signal_hash, to_microvolts, window


@dataclass(frozen=True)
class PreparedRecords:
    """Outcome of preparing a block of candidates, in order.

    Attributes:
        rows: Index rows of kept records, without labels.
        signals_nCL: Windows of kept records, in µV.
        quarantined: Source, root, path, reason and message of quarantined records.
    """

    rows: list[dict[str, Any]]
    signals_nCL: NDArray[np.int16]
    quarantined: list[dict[str, str]]


def prepare_block(
    candidates: Sequence[Candidate], config: CorpusConfig, note: Callable[[str], None] | None = None
) -> PreparedRecords:
    """Prepare a block of candidates. Each candidate becomes an index row or a quarantined record.

    `note` is called with the name of each record before the record is read.
    """
    rows: list[dict[str, Any]] = []
    signals = np.empty((len(candidates), len(LEADS), config.window), np.int16)
    quarantined = []
    for candidate in candidates:
        if note is not None:
            note(candidate.place)
        try:
            record = candidate.read(seconds=config.seconds_read)
            row, signals[len(rows)] = prepare_record(record, config)
        except RecordError as error:
            quarantined.append(_place(candidate) | {"reason": str(error.reason), "message": error.problem})
        else:
            rows.append(_place(candidate) | row)
    windows = signals[: len(rows)]
    for row, peaks in zip(rows, beats(windows, [row["n_valid"] for row in rows], config), strict=True):
        row["rpeaks"] = peaks.tolist()
    return PreparedRecords(rows, windows, quarantined)


def prepare_record(record: Record, config: CorpusConfig) -> tuple[dict[str, Any], NDArray[np.int16]]:
    """Check a record and cut its window. Return its index row without beats, and int16 samples in µV.

    Before resampling, a long recording is cut to the window and a margin for the filter. Damaged leads are
    mended or hidden (`quality.mended`). Raises `RecordError` if the record is too short or too damaged
    (`quality.refuse_damaged`). With `corpus=paper`, a single damaged lead is too much (`quality.unmended`).
    """
    as_paper, judged = config.corpus == "paper", judged_samples(record.fs, config)
    with located(record.path):
        mend = (unmended if as_paper else mended)(record.x_CL, record.fs, config, judged=judged)
    if mend.measures.seconds < config.shortest:
        problem = f"must last at least {config.shortest:g} s, got {mend.measures.seconds:.2f} s"
        raise RecordError(Reason.too_short, problem, where=record.path)
    with located(record.path):
        refuse_damaged(mend, config)
    hidden = tuple(lead for lead, is_hidden in zip(LEADS, mend.hidden_C, strict=True) if is_hidden)
    record = replace(record, x_KL=mend.x_CL, leads=LEADS, notes=(*record.notes, *mend.notes))
    d_CL, n_valid = windowed(record, config)
    row = {
        "id": record.id,
        "fs": record.fs,
        "length": record.length,
        "start": record.start,
        "n_valid": n_valid,
        "codes": list(record.codes),
        "age": record.age,
        "sex": record.sex,
        "patient": record.patient,
        "acquired": record.acquired,
        "device": record.device,
        "statements": list(record.machine.statements),
        **{f"machine_{name}": getattr(record.machine, name) for name in MEASURED},
        "signal_hash": signal_hash(d_CL),
        "hidden": hidden,
        "notes": [*record.notes, *[CONTRADICT] * (mend.measures.montage > config.montage_limit)],
    }
    return row | mend.measures.worst(~mend.hidden_C), d_CL


def judged_samples(fs: float, config: CorpusConfig) -> int:
    """Return the number of samples in the window at the recording's rate. Quality rules check only these."""
    return round(config.window / config.fs * fs)


def windowed(record: Record, config: CorpusConfig) -> tuple[NDArray[np.int16], int]:
    """Cut a record with a margin, resample it, and cut its window.

    Returns:
        int16 [12, window] in µV, and the number of valid samples.
    """
    x_CL, judged = record.x_CL[:, : round(config.seconds_read * record.fs)], judged_samples(record.fs, config)
    broken_L = ~np.isfinite(x_CL[:, judged:]).all(axis=0)
    if broken_L.any():  # after the window nothing checks it, and the filter would spread it
        x_CL = x_CL[:, : judged + int(broken_L.argmax())]
    y_CL, n_valid = window(resample(x_CL, record.fs, config.fs), config.window)
    return to_microvolts(y_CL), n_valid


def beats(
    signals_nCL: NDArray[np.int16], n_valid: Sequence[int], config: CorpusConfig
) -> list[NDArray[np.int64]]:
    """Find the R-peaks of windows as stored, in µV, so that the result can be reproduced from the corpus.

    The first `n_valid` samples of a window aren't padding. Windows with the same number are processed
    together.
    """
    as_paper = config.corpus == "paper"
    lead_i = as_paper or config.rpeaks_lead == "I"
    looked_at = signals_nCL[:, LEADS.index("I")] if lead_i else signals_nCL
    peaks_of = [np.zeros(0, np.int64)] * len(n_valid)
    for length in set(n_valid):
        rows = np.flatnonzero(np.array(n_valid) == length)
        stored = looked_at[rows, ..., :length]
        detected = (
            detect_as_neurokit(stored / 1000, config.fs)
            if as_paper
            else detect_each(stored / 1000, config.fs, config.rpeaks)
            if lead_i
            else detect_best_each(stored.astype(np.float32) / np.float32(1000), config.fs)
        )
        for row, peaks in zip(rows, detected, strict=True):
            peaks_of[row] = peaks
    return peaks_of


def _place(candidate: Candidate) -> dict[str, str]:
    return {"source": candidate.source, "root": candidate.root_name, "path": candidate.path}
