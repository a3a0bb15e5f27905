"""Read ECGs from files of any supported format, and measure them.

Signals are in mV, intervals in ms.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ecg_records.errors import RecordError
from ecg_records.measurements import intervals
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import find
from ecg_records.readers.inputs import find_one
from ecg_records.record import Candidate, Record
from ecg_records.storage.copies import ensure_local

if TYPE_CHECKING:
    import pandas as pd


class Scanned(NamedTuple):
    """One record of a folder by its path in it, or the error that says why it can't be read."""

    path: str
    record: Record | None
    error: RecordError | None


class Measured(NamedTuple):
    """Measurements of a record; None where a value can't be trusted.

    Attributes:
        rate: beats per minute.
        pr, qrs, qt, qtc: ms; QTc by Fridericia's formula.
        axis: degrees of the frontal QRS axis, −180 to 180.
        paced: whether a pacemaker's spikes go before most beats.
        reasons: why a value is None, by its name; `measurements.intervals.Reason` explains the words.
    """

    rate: float | None
    pr: float | None
    qrs: float | None
    qt: float | None
    qtc: float | None
    axis: float | None
    paced: bool
    reasons: Mapping[str, str]


def read(
    path: str | Path, layout: Layout | None = None, *, seconds: float | None = None, start: float = 0.0
) -> Record:
    """Read the record of a file, or of a folder that holds one.

    Args:
        path: a file of any supported format, of WFDB the header; or an address such as `s3://bucket/ecg.dcm`.
        layout: sampling rate, leads and units of a plain array, such as an `.npy` file.
        seconds: how much of a long recording is read; without it, all.
        start: the second at which that begins.

    Raises:
        RecordError: the record can't be used; `reason` says why in a word.
        InputError: nothing is there, or it can't be read.
        UsageError: there are several records, or the array needs another layout.

    Example:
        >>> import tempfile, numpy
        >>> file = Path(tempfile.mkdtemp()) / "ecg.npy"
        >>> numpy.save(file, numpy.zeros((2, 2500), numpy.float32))
        >>> record = read(file, Layout(fs=250, leads=("II", "V5")))
        >>> record.leads, record.fs, record.signals.shape
        (('II', 'V5'), 250, (2, 2500))
    """
    return find_one(path, layout).read(seconds, start)


def scan(folder: str | Path, layout: Layout | None = None) -> Iterator[Scanned]:
    """Find all records below a folder, and read them one after the other.

    Args:
        folder: searched in depth; it may be an address, or a file of many records.
        layout: sampling rate, leads and units of plain arrays; without it, those in folders are passed over.

    Raises:
        CorpusError: the folder is missing or holds no record.
        UsageError: an array needs another layout, or a format a library that isn't installed.
    """
    found = find([ensure_local(folder).absolute()], layout=layout)
    return (_scanned(candidate) for candidate in found)


def measure(record: Record) -> Measured:
    """Measure rate, intervals and axis on the record's median beat; the axis needs the leads I and aVF."""
    found = intervals.measure(record.signals, record.fs, record.leads)
    values = {name: getattr(found, name) for name in ("rate", "pr", "qrs", "qt", "axis")}
    values["qtc"] = found.qtc()
    reasons: dict[str, str] = {name: why for name, why in found.reasons.items() if name in values}
    if found.axis is None:
        reasons.setdefault("axis", "unseen" if {"I", "aVF"} <= {*record.leads} else "no_limb_leads")
    if values["qtc"] is None:
        reasons["qtc"] = reasons.get("qt", reasons.get("rate", "unseen"))
    return Measured(**values, paced=found.paced, reasons=reasons)


def delineate(record: Record) -> "pd.DataFrame":
    """Return the beats of a record, one row each, with their waves' ends in ms from its first sample.

    Columns: `r`, the R-peak. `p_on`, `p_off`, `qrs_on`, `qrs_off` and `t_off`, over all leads: NaN where
    `measure` has no such interval, at the record's ends, and P for a beat of another shape. `rr`, the time
    from the beat before. `shape`: `usual`, `second` if another is about as frequent, or `other`. `p_safe` is
    False: P waves of single beats are too low to be relied on, those of `measure` are the median beat's.

    Example:
        >>> import numpy
        >>> flat = numpy.zeros((12, 5000), numpy.float32)
        >>> record = Record("a", "b", Path("a.hea"), flat, fs=500, length=5000)
        >>> len(delineate(record))
        0
    """
    from ecg_records.measurements.beat_table import beat_table  # noqa: PLC0415 (pandas is slow to import)

    return beat_table(record.signals, record.fs, record.leads)


def _scanned(candidate: Candidate) -> Scanned:
    try:
        return Scanned(candidate.path, candidate.read(), None)
    except RecordError as error:
        return Scanned(candidate.path, None, error)
