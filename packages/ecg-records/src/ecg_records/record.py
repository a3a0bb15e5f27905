"""Define `Record`, a recording from any format, and `Candidate`, a record that was found but not read.

A `Reader` finds and reads the records of a data set or format. The built-in readers of data sets are in
`readers.datasets`. Other packages add readers through the entry point group `ecg_records.readers`.

Shapes: K leads of the file, C the twelve leads (in the order of `LEADS`), L samples at the record's own rate.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.errors import Reason, RecordError, located
from ecg_records.machine import MachineReport, number
from ecg_records.notes import Note, NoteKind
from ecg_records.signal.leads import LEADS, given_leads, signals_as
from ecg_records.signal.plot import plot
from ecg_records.signal.samples import order_leads
from ecg_records.storage.availability import blamed
from ecg_records.stretch import WHOLE, Stretch, refuse_codes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Record:
    """An ECG recording: standard leads in mV, with patient data, codes and notes.

    Attributes:
        id: Name of the record within its source.
        source: Collection the record belongs to, such as `georgia`.
        path: File the record was read from (for WFDB, the header).
        x_KL: float32 [K, L] in mV, a row per lead of `leads`. L is less than `length` if only a part was
            read.
        fs: Sampling rate of the file in Hz.
        length: Samples per lead in the file.
        codes: SNOMED CT codes, or CURIEs such as `scp:IMI`, in file order without duplicates.
        age: Age in years, or None if unknown.
        sex: "F", "M", or None if unknown.
        patient: Patient id within the source, or None if unknown.
        notes: Everything that was repaired, ignored or missing while reading, as strings (`notes.Note`).
        leads: Lead names, a subset of `LEADS`.
        acquired: Time of the recording (ISO 8601, local time), as stated in the file.
        device: Name of the device, as stated in the file.
        machine: Measurements and statements of the device. For PTB-XL, the report and statements in its
            table.
        start: Offset of a part from the beginning of the recording, in seconds.
    """

    id: str
    source: str
    path: Path
    x_KL: NDArray[np.float32]
    fs: float
    length: int
    codes: tuple[str, ...] = ()
    age: float | None = None
    sex: str | None = None
    patient: str | None = None
    notes: tuple[str, ...] = ()
    leads: tuple[str, ...] = LEADS
    acquired: str | None = None
    device: str | None = None
    machine: MachineReport = field(default_factory=MachineReport)
    start: float = 0.0

    @property
    def signals(self) -> NDArray[np.float32]:
        """Signals in mV, a row per lead of `leads`."""
        return self.x_KL

    @property
    def statements(self) -> tuple[str, ...]:
        """Statements of the electrocardiograph, as written in the file."""
        return self.machine.statements

    @property
    def x_CL(self) -> NDArray[np.float32]:
        """Signals of the twelve leads, float32 [12, L]. Raises `RecordError` if a lead is missing."""
        if self.leads == LEADS:
            return self.x_KL
        with located(self.path):
            return order_leads(self.x_KL, self.leads)

    def plot(self, seconds: float = 10) -> "Figure":
        """Return a Matplotlib figure of the leads on ECG paper.

        Args:
            seconds: Number of seconds to draw, from the beginning.

        Example:
            >>> record.plot().savefig("ecg.png")  # doctest: +SKIP
        """
        return plot(self.x_KL[:, : round(seconds * self.fs)], self.fs, self.leads, self.id)

    def coded(self, codes: tuple[str, ...]) -> "Record":
        """Return a copy of the record with other codes."""
        notes = tuple(note for note in self.notes if note != NO_DIAGNOSIS)
        no_diagnosis = Note(NO_DIAGNOSIS, NoteKind.codes)
        return replace(self, codes=codes, notes=notes if codes else (*notes, no_diagnosis))


class StatedCodes(Protocol):
    """Codes that a user assigns to records, for example in a table.

    Objects of this class must be picklable, because other processes use them.
    """

    @property
    def key(self) -> str:
        """String that identifies the assignment of codes to records. Equal assignments have equal keys."""

    def on(self, record: Record) -> Record:
        """Return a copy of the record with the codes that the user assigned to it."""


class Unusable(NamedTuple):
    """Reason why a candidate can't be read, if the reason is known before reading."""

    reason: Reason
    problem: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """Record that was found but not read.

    Attributes:
        root: Folder that must contain all files of the record.
        file: File of the record (for WFDB, the header).
        source: Collection the record belongs to.
        reader: Object that reads the record.
        key: Metadata for the reader, for example the record's row of a table.
        fold: Fold of the record if its data set defines folds.
        row: Row in a file of many records, or −1 if the file is a single record.
        copies: Other files with the same recording, for example at another sampling rate.
        root_name: Short name of `root`, unique among the folders that are searched together.
        stated: Codes assigned by the user.
        part: Part of the recording to read.
        own_name: Name of the record in a file of many records.
        unusable: Reason why the record can't be read, if already known.
        leads: Signals with other names that are read as standard leads: pairs of name and lead
            (`signal.leads.signals_as`).
    """

    root: Path
    file: Path
    source: str
    reader: "ReadsRecords" = field(compare=False)
    key: Any = field(default=None, compare=False)
    fold: int | None = None
    row: int = -1
    copies: tuple[Path, ...] = field(default=(), compare=False)
    root_name: str = ""
    stated: StatedCodes | None = None
    part: Stretch = WHOLE
    own_name: str | None = field(default=None, compare=False)
    unusable: Unusable | None = field(default=None, compare=False)
    leads: tuple[tuple[str, str], ...] = field(default_factory=given_leads, compare=False)

    def read(self, seconds: float | None = None, start: float = 0.0) -> Record:
        """Read the record, or `seconds` of it from `start` on.

        Raises `RecordError` if the record can't be used, and `SourceGoneError` if its root is gone.
        """
        with located(self.place), blamed(self.root, self.file), signals_as(self.leads):
            if self.unusable:
                raise RecordError(*self.unusable)
            if not is_text(self._file):
                raise RecordError(Reason.path, "has a name that is not UTF-8")
            if not inside(self.file, self.root):
                raise RecordError(Reason.path, "is a link to a file outside the source folder")
            record = self.reader.read(self, self.part.within(start, seconds))
            refuse_codes(len(record.codes))
        if self.part != WHOLE:
            length = self.part.length(record.fs, record.length)
            record = replace(record, start=self.part.start, length=length)
        return record if self.stated is None else self.stated.on(record)

    @property
    def path(self) -> str:
        """Path of the file relative to its root, with `/` between folders.

        For a file of many records, `#` and the row are appended. For a part, `@` and its start in seconds are
        appended.
        """
        path = as_text(self._file)
        return (path if self.row < 0 else f"{path}#{self.row}") + self._at

    @property
    def place(self) -> str:
        """Full path of the record, for messages."""
        return f"{as_text(str(self.root))}/{self.path}"

    @property
    def name(self) -> str:
        """Unique name of the record: name of the root, and path without its ending."""
        stem = f"{self.root_name}/{as_text(without_ending(self._file))}"
        return (stem if self.row < 0 else f"{stem}/{self.row}") + self._at

    @property
    def _at(self) -> str:
        return "" if self.part == WHOLE else f"@{self.part.start:.12g}"

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Key to sort by: name of the root, path of the file in the root, row, then path of the root."""
        return self.root_name, self._file, self.row, str(self.root)

    @property
    def _file(self) -> str:
        # This is called a million times, and pathlib is slow.
        return str(self.file).removeprefix(str(self.root)).lstrip("/")


class ReadsRecords(Protocol):
    """Object that reads a candidate. It must be picklable, because other processes use it."""

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read a record or a stretch of it. Raises `RecordError` if the record can't be used."""


class Reader(ReadsRecords, Protocol):
    """Object that finds and reads the records of a data set or format.

    A reader must be hashable, because `discovery` uses readers as keys of a dict.
    """

    @property
    def source(self) -> str:
        """Name of the data set or format, by which reports count records."""

    @property
    def marks(self) -> Sequence[str]:
        """Names or patterns of files and folders, such as `*.dcm`.

        `is_root` is called only for folders that contain a match.
        """

    def is_root(self, folder: Path) -> bool:
        """Return whether the folder holds this reader's data set, by the content of its files."""

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find all records of a folder without reading them.

        Headers for which no candidate is returned are read as plain WFDB records. Raises `CorpusError` if the
        table of records is invalid.
        """


def unlisted(
    reader: Reader, root: Path, headers: Iterable[Path], listed: Iterable[Candidate], table: str
) -> Iterator[Candidate]:
    """Yield an unusable candidate for each header that isn't in `listed`.

    `table` is the name of the data set's table, for the error message.
    """
    files = {str(file) for candidate in listed for file in (candidate.file, *candidate.copies)}
    for header in headers:
        if str(header) not in files:
            why = Unusable(Reason.unlisted, f"is not listed in {table}")
            yield Candidate(root, header, reader.source, reader, unusable=why)


def age_in_years(text: str | None) -> float | None:
    """Return an age of 0 to 120 years, or None for other values, such as `NaN` or `Unknown`."""
    age = number(text)
    return age if 0 <= age <= 120 else None


def sex_letter(text: str | None) -> str | None:
    """Return `F` or `M` for `Female`, `female`, `F`, `Male` and so on, or None."""
    return {"f": "F", "female": "F", "m": "M", "male": "M"}.get((text or "").strip().lower())


def is_regular(file: Path) -> bool:
    """Return whether a path is a regular file, not a pipe, a device or a circular link."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def inside(file: Path, root: Path) -> bool:
    """Return whether a file lies in a folder after all links are resolved."""
    if _is_straight(str(file), f"{root}/"):
        return True
    try:
        return f"{os.path.realpath(file)}/".startswith(f"{os.path.realpath(root).rstrip('/')}/")
    except (OSError, ValueError):
        return False


def _is_straight(file: str, folder: str) -> bool:
    """Return whether a path leads into a folder without links and `..`. Faster than `realpath`."""
    if not file.startswith(folder) or "/../" in f"{file}/" or "\0" in file:
        return False
    while len(file) > len(folder):
        if os.path.islink(file):  # noqa: PTH114 — called a million times, and pathlib is slow
            return False
        file = os.path.dirname(file)  # noqa: PTH120 — as above
    return True


def is_text(name: str) -> bool:
    """Return whether a file name is valid UTF-8, as tables and JSON require."""
    return name.isascii() or name == as_text(name)


def as_text(name: str) -> str:
    """Return a file name as text. Bytes that aren't valid UTF-8 are escaped."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def without_ending(path: str) -> str:
    """Return a path without its last ending: `g1/a.b.hea` is `g1/a.b`."""
    return os.path.splitext(path)[0]  # noqa: PTH122 — pathlib is slow
