"""Read records from plain arrays, whose layout the user describes.

`.npy`, `.npz`, HDF5, Parquet and MATLAB files hold [records, leads, samples] or [records, samples, leads], or
a single record [leads, samples] or [samples, leads]. The axis of the leads is the axis with as many entries
as the layout has leads. Arrays have no diagnostic codes.

Shapes: K leads of the array, L samples.
"""

import errno
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_base import EcgError, InputError, OutputError, UsageError
from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.errors import Reason, RecordError, in_short
from ecg_records.notes import Note, NoteKind, changed, unused
from ecg_records.readers.arrays import delimited
from ecg_records.readers.arrays.array_files import OPENERS, Lazy, arrays_in
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.arrays.clock import Clock
from ecg_records.record import Candidate, Record, as_text, is_regular
from ecg_records.signal.leads import find_leads, given_leads, read_label
from ecg_records.signal.samples import unit_in_volts
from ecg_records.stretch import WHOLE, Stretch

SLAB = 16 << 20
"""Number of bytes to read at a time. Records are usually read in order, so the next records come from
memory."""
MOST_PACKED = 10_000
"""Maximum number of values per byte of a file. Recordings never compress so well, so a larger array is an
error in the header."""


class ArrayFile:
    """Records of an array in a file.

    Attributes:
        leads: Lead names in the order of the array. They come from the columns of the file if the columns
            name leads, and from the layout otherwise.
        names: Names of the records, if the file has them.
        is_single: Whether the array is a single record, without an axis for records.

    Raises:
        InputError: If the file can't be read.
        UsageError: If the array's shape doesn't fit the layout.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path, self._layout = path, layout
        if path.exists() and not is_regular(path):
            raise InputError(
                "must be a regular file, got a pipe, a device or a folder", where=path, remedy="Remove it"
            )
        self._array = _chosen(arrays_in(path), layout, path)
        if math.prod(self._array.shape) > MOST_PACKED * path.stat().st_size:
            problem = f"is too small for the {_shape(self._array.shape)} numbers in its header"
            raise InputError(problem, where=path, remedy="Check that the file is complete")
        self.leads: tuple[str, ...] = getattr(self._array, "leads", ()) or layout.leads
        self._clocks: Sequence[Clock | None] = getattr(self._array, "clocks", ())
        for clock in filter(None, self._clocks):
            clock.refuse_other(layout.fs)
        self._unused: tuple[str, ...] = getattr(self._array, "unused", ())
        self._per_mv_K1 = np.array([[self._units(name)] for name in self.leads])
        self.names: tuple[str, ...] = getattr(self._array, "names", ())
        self.is_single = len(self._array.shape) == 2
        self._ragged: bool = getattr(self._array, "ragged", False)
        self._rows, self._cut = range(0), (slice(None), slice(None))
        self._slab: Sequence[NDArray[Any]] = ()

    def __len__(self) -> int:
        return 1 if self.is_single else self._array.shape[0]

    def notes(self, row: int = 0) -> tuple[Note, ...]:
        """Return notes on changes to a record's samples, and on columns that aren't read."""
        clock = self._clocks[row] if row < len(self._clocks) else None
        return (*(clock.notes if clock else ()), *unused(self._unused))

    def _units(self, name: str) -> float:
        """Return the number of units per millivolt. A heading such as `I (uV)` overrides the layout."""
        label = read_label(name)
        stated = unit_in_volts(label.unit) if label else None
        return self._layout.per_mv if stated is None else stated

    def signal(self, row: int = 0, stretch: Stretch = WHOLE) -> tuple[NDArray[np.float32], int]:
        """Read a record or a stretch of it.

        Returns:
            The signals in mV, [K, L], and the samples per lead in the file.

        Raises:
            RecordError: If the row can't be read, or its shape doesn't fit the leads.
            OutputError: If the disk has too little space to unpack the file.
        """
        try:
            x, length = self._record(row, stretch)
        except RecordError:
            raise
        except Exception as error:  # each of five libraries raises its own errors
            if getattr(error, "errno", None) == errno.ENOSPC:  # the record itself isn't damaged
                remedy = "Free disk space, or set TMPDIR to a folder on another disk"
                raise OutputError(
                    "can't be unpacked: the disk is full", where=self._path, remedy=remedy
                ) from error
            raise RecordError(Reason.unreadable, f"can't be read ({error})") from error
        axis = lead_axis(x.shape, len(self.leads))
        if axis is None:
            problem = f"must have one axis of {len(self.leads)} leads, got shape {_shape(x.shape)}"
            raise RecordError(Reason.shape, problem)
        x_KL = x if axis == 0 else x.T
        if length is None:
            length = x_KL.shape[1]
            x_KL = x_KL[:, stretch.samples(self._layout.fs, length)]
        with np.errstate(invalid="ignore", over="ignore"):  # the quality rules report NaN and infinity
            return np.ascontiguousarray(x_KL.astype(np.float64) / self._per_mv_K1, np.float32), length

    def _record(self, row: int, stretch: Stretch) -> tuple[NDArray[Any], int | None]:
        """Return a stretch of a record and the length of the record.

        If the records of the file differ in length, return all samples of the record, and None.
        """
        shape = self._array.shape[-2:]
        axis = lead_axis(shape, len(self.leads))
        if self._ragged or axis is None:
            return np.asarray(self._row(row, (slice(None),) * 2, shape)), None
        length = shape[1 - axis]
        samples = stretch.samples(self._layout.fs, length)
        cut = (slice(None), samples) if axis == 0 else (samples, slice(None))
        size = (len(self.leads), samples.stop - samples.start)
        return np.asarray(self._array[cut] if self.is_single else self._row(row, cut, size)), length

    def _row(self, row: int, cut: tuple[slice, slice], shape: tuple[int, ...]) -> NDArray[Any]:
        """Return a row of the array. Up to `SLAB` bytes of neighbouring rows are read and cached at once.

        Args:
            row: index of the record.
            cut: slices of the row's axes.
            shape: shape of the row after the cut.
        """
        if row not in self._rows or cut != self._cut:
            first_cut = all(not axis.start for axis in cut)
            count = max(1, SLAB // max(8 * math.prod(shape), 1)) if first_cut else 1
            first = row // count * count
            self._rows = range(0)  # if reading fails, no rows are cached
            rows = slice(first, min(first + count, len(self)))
            self._slab = self._array[(rows,) if self._ragged else (rows, *cut)]
            self._rows, self._cut = range(first, first + len(self._slab)), cut
        return self._slab[row - self._rows.start]


def is_array(path: Path) -> bool:
    """Return whether a file has an array's ending and can hold signals.

    WFDB signal files and tables without signals have the same endings, but aren't arrays.
    """
    if path.suffix.lower() in delimited.ENDINGS:
        return is_regular(path) and delimited.form_of(path) is not None
    headers = (path.with_suffix(ending) for ending in (".hea", ".HEA"))
    return path.suffix.lower() in OPENERS and not any(map(is_regular, headers))


@dataclass(frozen=True)
class Arrays:
    """Reader of array files with a layout from the user."""

    layout: Layout

    def in_file(self, root: Path, file: Path, source: str) -> Iterator[Candidate]:
        """Find the records of a file below `root`. Raise the same errors as `ArrayFile`."""
        array = ArrayFile(file, self.layout)
        for row in range(len(array)):
            name = array.names[row] if array.names else None
            yield Candidate(root, file, source, self, own_name=name, row=-1 if array.is_single else row)

    def in_folder(self, root: Path, file: Path) -> Iterator[Candidate]:
        """Find the records of a file in a folder. An unusable file yields a candidate that can't be read."""
        source = as_text(file.parent.name)
        try:
            yield from self.in_file(root, file, source)
        except EcgError:
            yield Candidate(root, file, source, self)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a record. Raise the same errors as `read_row`."""
        file, row = candidate.file, candidate.row
        x_KL, leads, length, notes = read_row(file, self.layout, row, stretch)
        return Record(
            id=candidate.own_name or (file.stem if row < 0 else f"{file.stem}/{row}"),
            source=candidate.source,
            path=file,
            x_KL=x_KL,
            fs=self.layout.fs,
            length=length,
            notes=(*notes, Note(NO_DIAGNOSIS, NoteKind.codes)),
            leads=leads,
        )


def read_row(
    file: Path, layout: Layout, row: int, stretch: Stretch = WHOLE
) -> tuple[NDArray[np.float32], tuple[str, ...], int, tuple[Note, ...]]:
    """Read the standard leads of a record or of a stretch. If `row` is −1, the file is a single record.

    Returns:
        The signals in mV, the lead names in the order of `LEADS`, the samples per lead in the file, and
        notes.

    Raises:
        RecordError: If the file is unreadable, or its shape or leads don't fit the layout.
    """
    try:
        array = _opened(file, layout, file.stat().st_mtime_ns, given_leads())
    except RecordError:
        raise
    except (UsageError, InputError) as error:
        reason = Reason.shape if isinstance(error, UsageError) else Reason.unreadable
        raise RecordError(reason, error.problem) from error
    except OSError as error:
        raise RecordError(Reason.unreadable, f"can't be read ({error.strerror})") from error
    x_KL, length = array.signal(max(row, 0), stretch)
    if not length:
        raise RecordError(Reason.truncated, "has no samples")
    found = find_leads(array.leads)
    notes = (*array.notes(max(row, 0)), *changed(found), *unused(found.unused))
    return found.upright(x_KL[list(found.rows)]), found.leads, length, notes


@lru_cache(maxsize=2)
def _opened(file: Path, layout: Layout, changed: int, leads: tuple[tuple[str, str], ...]) -> ArrayFile:
    """Open a file, and keep it in a cache, from which its next records are read.

    Args:
        file: the file.
        layout: its layout.
        changed: time of the last change, so that a new file of the same name isn't taken from the cache.
        leads: lead names of the enclosing `signals_as`, because they change how the file is read.
    """
    return ArrayFile(file, layout)


def lead_axis(shape: Sequence[int], leads: int) -> int | None:
    """Return the axis with as many entries as there are leads, or None if neither or both axes fit."""
    fitting = [axis for axis, size in enumerate(shape) if size == leads]
    return fitting[0] if len(shape) == 2 and len(fitting) == 1 else None


def _chosen(arrays: Mapping[str, Lazy], layout: Layout, path: Path) -> Lazy:
    """Return the array named `layout.key`, or without a key the only array with an axis for the leads."""
    names = [f"{name} ({_shape(array.shape)})" for name, array in arrays.items()]
    inside = in_short(names) or "no numbers"
    if layout.key and layout.key not in arrays:
        raise UsageError(f"has no array {layout.key!r}", where=path, remedy=f"It has {inside}")
    candidates = {layout.key: arrays[layout.key]} if layout.key else arrays
    fitting = [
        array
        for array in candidates.values()
        if len(array.shape) in (2, 3)
        and lead_axis(array.shape[-2:], len(getattr(array, "leads", ()) or layout.leads)) is not None
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        problem = f"must have one array of signals, got several: {inside}"
        raise UsageError(problem, where=path, remedy="Choose an array with array.key=NAME")
    problem = f"must have an array with exactly one axis of {len(layout.leads)} leads, got {inside}"
    remedy = "Set array.leads, for example to I,II. Records are [leads, samples] or [samples, leads]"
    raise UsageError(problem, where=path, remedy=remedy)


def _shape(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))
