"""Read ECGs from files of any supported format, and measure them.

Signals are in mV, intervals in ms.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ecg_records.errors import RecordError
from ecg_records.measurements import intervals
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import find
from ecg_records.readers.inputs import find_one
from ecg_records.record import Candidate, Record
from ecg_records.signal.leads import signals_as
from ecg_records.storage.copies import ensure_local

if TYPE_CHECKING:
    import pandas as pd


class Scanned(NamedTuple):
    """A record found in a folder.

    Attributes:
        path: Path of the record in the folder.
        record: The record, or None if it can't be read.
        error: Why the record can't be read, or None if it can.
    """

    path: str
    record: Record | None
    error: RecordError | None


class Measured(NamedTuple):
    """Measurements of a record. A value is None if it can't be trusted.

    Attributes:
        rate: Beats per minute.
        pr, qrs, qt, qtc: Intervals in ms. QTc uses Fridericia's formula.
        axis: Frontal QRS axis in degrees, −180 to 180.
        paced: Whether pacemaker spikes precede at least half of the beats.
        reasons: The reason for each value that is None. `measurements.intervals.Reason` explains the reasons.
            A further reason is `no_limb_leads`: lead I or aVF is missing.
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
    path: str | Path,
    layout: Layout | None = None,
    *,
    seconds: float | None = None,
    start: float = 0.0,
    leads: Mapping[str, str] | None = None,
) -> Record:
    """Read a record from a file, or from a folder with a single record.

    Args:
        path: File of any supported format (for WFDB, the header), or an address such as
            `s3://bucket/ecg.dcm`.
        layout: Sampling rate, leads and units of a plain array, such as an `.npy` file.
        seconds: Length of the part to read. If None, the whole recording is read.
        start: Beginning of the part, in seconds from the start of the recording.
        leads: Standard lead of each signal that has another name in the file, such as `{"MLII": "II"}`.

    Raises:
        RecordError: If the record can't be used. Its `reason` is a short name of the cause.
        InputError: If the path doesn't exist or can't be read.
        UsageError: If the path contains several records, or an array has no layout or doesn't fit it.

    Example:
        >>> import tempfile, numpy
        >>> file = Path(tempfile.mkdtemp()) / "ecg.npy"
        >>> numpy.save(file, numpy.zeros((2, 2500), numpy.float32))
        >>> record = read(file, Layout(fs=250, leads=("II", "V5")))
        >>> record.leads, record.fs, record.signals.shape
        (('II', 'V5'), 250, (2, 2500))
    """
    with signals_as(leads or {}):
        return find_one(path, layout).read(seconds, start)


def scan(folder: str | Path, layout: Layout | None = None) -> Iterator[Scanned]:
    """Find all records below a folder, and read them in turn.

    Args:
        folder: Folder to search with its subfolders, an address such as `s3://bucket/ecgs`, or a file with
            many records.
        layout: Sampling rate, leads and units of plain arrays. If None, arrays in folders are ignored.

    Raises:
        CorpusError: If the folder is missing or holds no record.
        UsageError: If an array doesn't fit the layout, or a format needs a library that isn't installed.
    """
    found = find([ensure_local(folder).absolute()], layout=layout)
    return (_scanned(candidate) for candidate in found)


@np.errstate(under="ignore")  # tiny numbers become 0, even if the caller has set numpy to raise
def measure(record: Record) -> Measured:
    """Measure the heart rate, and intervals and axis on the median beat. The axis needs leads I and aVF."""
    found = intervals.measure(record.signals, record.fs, record.leads)
    values = {name: getattr(found, name) for name in ("rate", "pr", "qrs", "qt", "axis")}
    values["qtc"] = found.qtc()
    reasons: dict[str, str] = {name: why for name, why in found.reasons.items() if name in values}
    if found.axis is None:
        reasons.setdefault("axis", "unseen" if {"I", "aVF"} <= {*record.leads} else "no_limb_leads")
    if values["qtc"] is None:
        reasons["qtc"] = reasons.get("qt", reasons.get("rate", "unseen"))
    return Measured(**values, paced=found.paced, reasons=reasons)


@np.errstate(under="ignore")
def delineate(record: Record) -> "pd.DataFrame":
    """Return a table with a row per beat. Times are in ms from the record's first sample.

    Columns:
        r: R-peak.
        p_on, p_off, qrs_on, qrs_off, t_off: Onsets and ends of the waves over all leads. NaN if the wave
            isn't visible or the beat is close to an end of the record, or if `measure` returns None for the
            interval of the wave: PR for `p_on` and `p_off`, QRS for `qrs_on` and `qrs_off`, QT for `t_off`.
            `p_on` and `p_off` are also NaN for beats whose `shape` isn't `usual`.
        rr: Time since the previous beat.
        shape: `usual` for beats with the dominant shape of the record, `second` for another shape that is
            about as frequent, and `other` for all other beats.
        p_safe: Always False, because P waves of single beats are too low to be reliable. `measure` uses the
            median beat instead.

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
