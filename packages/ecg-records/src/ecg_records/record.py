"""Results of every reader: `Record`, a uniform recording, and `Candidate`, a record not yet read.

A `Reader` knows one dataset or format. Those of the package are in `datasets`; others join them by the entry
point group `ecg_records.readers`.

Shapes: K leads as found, C all twelve (rows in `LEADS` order), L samples at the record's own rate.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import NO_DIAGNOSIS
from ecg_records.errors import Reason, RecordError, located
from ecg_records.machine import MachineReport, number
from ecg_records.notes import Note, NoteKind
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import order_leads
from ecg_records.storage.availability import blamed
from ecg_records.stretch import WHOLE, Stretch, refuse_codes


@dataclass(frozen=True)
class Record:
    """Recording with its standard leads in mV, codes, patient and notes.

    Attributes:
        id, source: its name within the collection that it comes from, such as `georgia`.
        path: its file; of WFDB the header.
        x_KL: float32 [K, L] in mV, a row per lead of `leads`; L may be less than `length`.
        fs: samples per second, as recorded.
        length: samples per lead in the file.
        codes: SNOMED-CT codes, or CURIEs such as `scp:IMI`, in the order given, each once.
        age, sex, patient: years, "F" or "M", and the source's id, as far as they are known.
        notes: everything that was repaired, ignored or missing; each a text (`ecg_records.notes.Note`).
        leads: names out of `LEADS`.
        acquired, device: when it was recorded (ISO 8601, local time) and by what, as its file says.
        machine: what the device measured and stated; of PTB-XL the report and the statements in its table.
        start: the second of the recording at which it begins, where it is a part.
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
        """Signal in mV, a row per lead of `leads`."""
        return self.x_KL

    @property
    def statements(self) -> tuple[str, ...]:
        """Statements of the electrocardiograph, as its file has them."""
        return self.machine.statements

    @property
    def x_CL(self) -> NDArray[np.float32]:
        """Signal of the twelve leads, float32 [12, L]. Raises `RecordError` if one is missing."""
        if self.leads == LEADS:
            return self.x_KL
        with located(self.path):
            return order_leads(self.x_KL, self.leads)

    def coded(self, codes: tuple[str, ...]) -> "Record":
        """Return the record with other codes."""
        notes = tuple(note for note in self.notes if note != NO_DIAGNOSIS)
        none = Note(NO_DIAGNOSIS, NoteKind.codes)
        return replace(self, codes=codes, notes=notes if codes else (*notes, none))


class StatedCodes(Protocol):
    """Codes that a user states for a record, such as by a table; picklable, for worker processes."""

    @property
    def key(self) -> str:
        """Text by which a preparation knows the statement again: equal statements have equal keys."""

    def on(self, record: Record) -> Record:
        """Return the record with the stated codes."""


class Unusable(NamedTuple):
    """Reason why a candidate can't be read, known as soon as it is found."""

    reason: Reason
    problem: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """Place of a record, its collection (`source`), and its reader.

    Attributes:
        root: the folder that no file of the record may lie outside of.
        file: the record's file; of WFDB the header.
        key: by what its reader finds what else is known of it, such as an entry of a table.
        own_name: what a file of many records calls it.
        unusable: why it can't be read, where that is known already.
        row: its row in a file of many; −1: the file is one record.
        copies: files that hold the same recording once more, such as at another rate.
        root_name: a name of `root` that no other root of the same call has.
        stated: the codes that the user states for it.
        part: which part of the recording it is; where that says how long it is, its record has that length.
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

    def read(self, seconds: float | None = None, start: float = 0.0) -> Record:
        """Read the record, or a number of seconds from `start` on.

        Raises `RecordError`, and `SourceGoneError` where its root is gone.
        """
        with located(self.place), blamed(self.root, self.file):
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

        Behind it stand `#` and the row in a file of many, and `@` and the second at which a part begins.
        """
        path = as_text(self._file)
        return (path if self.row < 0 else f"{path}#{self.row}") + self._at

    @property
    def place(self) -> str:
        """Place of the record, for messages."""
        return f"{as_text(str(self.root))}/{self.path}"

    @property
    def name(self) -> str:
        """Unique name of the record: its root's name and its path, without the ending."""
        stem = f"{self.root_name}/{as_text(without_ending(self._file))}"
        return (stem if self.row < 0 else f"{stem}/{self.row}") + self._at

    @property
    def _at(self) -> str:
        return "" if self.part == WHOLE else f"@{self.part.start:.12g}"

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Sort key: names of folders and files, then rows."""
        return self.root_name, self._file, self.row, str(self.root)

    @property
    def _file(self) -> str:
        return str(self.file).removeprefix(str(self.root)).lstrip("/")  # a million times: no pathlib


class ReadsRecords(Protocol):
    """Protocol of objects that read a candidate, in any process."""

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read one record, or a stretch. Raises `RecordError` if it can't be used."""


class Reader(ReadsRecords, Protocol):
    """Finder and reader of one dataset or format.

    Instances are hashable.

    Attributes:
        source: the name under which records are counted.
        marks: names of files or folders, or patterns such as `*.dcm`; only where a folder holds one of them
            is `is_root` asked.
    """

    @property
    def source(self) -> str:
        """Name under which the records are counted."""

    @property
    def marks(self) -> Sequence[str]:
        """Names or patterns of files and folders, of which a root holds at least one."""

    def is_root(self, folder: Path) -> bool:
        """Whether a folder's records are this reader's; a name alone should not decide it."""

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Find all records of a folder without reading them; WFDB headers left out get the plain WFDB reader.

        Raises `CorpusError` where what lists the records can't be understood.
        """


def unlisted(
    reader: Reader, root: Path, headers: Iterable[Path], listed: Iterable[Candidate], table: str
) -> Iterator[Candidate]:
    """Return candidates for headers that a dataset's table does not list: they are quarantined."""
    files = {str(file) for candidate in listed for file in (candidate.file, *candidate.copies)}
    for header in headers:
        if str(header) not in files:
            why = Unusable(Reason.unlisted, f"is not listed in {table}")
            yield Candidate(root, header, reader.source, reader, unusable=why)


def age_in_years(text: str | None) -> float | None:
    """Return a plausible age; None for `NaN`, `Unknown` and the like."""
    age = number(text)
    return age if 0 <= age <= 120 else None


def sex_letter(text: str | None) -> str | None:
    """Return `F` or `M` for `Female`, `female`, `F`, `Male`, …; None for other texts."""
    return {"f": "F", "female": "F", "m": "M", "male": "M"}.get((text or "").strip().lower())


def is_regular(file: Path) -> bool:
    """Whether a path is a regular file, and not a pipe, a device or a circular link."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def inside(file: Path, root: Path) -> bool:
    """Whether a file lies in a folder after links are resolved."""
    if _is_straight(str(file), f"{root}/"):
        return True
    try:
        return f"{os.path.realpath(file)}/".startswith(f"{os.path.realpath(root).rstrip('/')}/")
    except (OSError, ValueError):
        return False


def _is_straight(file: str, folder: str) -> bool:
    """Whether a path goes down from a folder without links and `..`: in a fifth of the time of `realpath`."""
    if not file.startswith(folder) or "/../" in f"{file}/" or "\0" in file:
        return False
    while len(file) > len(folder):
        if os.path.islink(file):  # noqa: PTH114 — a million times: no pathlib
            return False
        file = os.path.dirname(file)  # noqa: PTH120 — as above
    return True


def is_text(name: str) -> bool:
    """Whether a file name is UTF-8, as tables and JSON need it."""
    return name.isascii() or name == as_text(name)


def as_text(name: str) -> str:
    """Return a file name as text; bytes that aren't UTF-8 are escaped."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def without_ending(path: str) -> str:
    """Return a path without its last ending: `g1/a.b.hea` is `g1/a.b`."""
    return os.path.splitext(path)[0]  # noqa: PTH122 — a million times: no pathlib
