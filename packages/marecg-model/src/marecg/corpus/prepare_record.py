"""Prepare records: read, check, resample and cut their signals, then find the beats.

A window is the part of a recording that the corpus stores.

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
    """Outcome of preparing a block of candidates (records found in a source), in order.

    Attributes:
        rows: Index rows of kept records, without labels.
        signals_nCL: Windows (signals to store) of kept records, in µV.
        quarantined: Fields of `account.Quarantined` for each quarantined record.
    """

    rows: list[dict[str, Any]]
    signals_nCL: NDArray[np.int16]
    quarantined: list[dict[str, str]]


def prepare_block(
    candidates: Sequence[Candidate], config: CorpusConfig, note: Callable[[str], None] | None = None
) -> PreparedRecords:
    """Prepare a block of candidates. Each candidate becomes an index row or a quarantined record.

    Args:
        candidates: Records to prepare.
        config: Settings for preparing records.
        note: Function that is called with the name of each record before the record is read.
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
    """Check a record and cut its window, the part that the corpus stores.

    Damaged leads are repaired or hidden (`quality.mended`). If `config.corpus` is `paper`, leads aren't
    repaired, and a single damaged lead excludes the record (`quality.unmended`).

    Returns:
        Index row without beats, and the window in µV, int16.

    Raises:
        RecordError: If the record is too short or too damaged (`quality.refuse_damaged`).
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
    """Return the number of samples, at the recording's rate, that are stored and so checked for damage."""
    return round(config.window / config.fs * fs)


def windowed(record: Record, config: CorpusConfig) -> tuple[NDArray[np.int16], int]:
    """Resample a record and cut its window, the part that the corpus stores.

    To save time, only the window and a margin after it are resampled.

    Returns:
        Window in µV, int16 [12, window], and the number of samples before its padding.
    """
    x_CL, judged = record.x_CL[:, : round(config.seconds_read * record.fs)], judged_samples(record.fs, config)
    broken_L = ~np.isfinite(x_CL[:, judged:]).all(axis=0)
    if broken_L.any():  # the margin isn't checked, and the filter would spread NaN into the window
        x_CL = x_CL[:, : judged + int(broken_L.argmax())]
    y_CL, n_valid = window(resample(x_CL, record.fs, config.fs), config.window)
    return to_microvolts(y_CL), n_valid


def beats(
    signals_nCL: NDArray[np.int16], n_valid: Sequence[int], config: CorpusConfig
) -> list[NDArray[np.int64]]:
    """Find the R-peaks of stored signals (windows), and return their sample indices.

    R-peaks are found in the stored samples, so that the result can be reproduced from the corpus. Windows
    with the same number of samples are processed together.

    Args:
        signals_nCL: Windows as stored, in µV.
        n_valid: Number of samples of each window before its padding.
        config: Settings for preparing records.
    """
    as_paper = config.corpus == "paper"
    lead_i = as_paper or config.rpeaks_lead == "I"
    searched = signals_nCL[:, LEADS.index("I")] if lead_i else signals_nCL
    peaks_of = [np.zeros(0, np.int64)] * len(n_valid)
    for length in set(n_valid):
        rows = np.flatnonzero(np.array(n_valid) == length)
        stored = searched[rows, ..., :length]
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
