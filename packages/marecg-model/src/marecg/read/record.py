"""What every reader gives: `Record`, one recording made uniform, and `Candidate`, one found but not yet read.

Shapes: C leads (rows in `config.LEADS` order), L samples at the record's own rate.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Record:
    """One 12-lead recording.

    Attributes:
        id: the record's name within its source.
        source: the collection it comes from, such as `georgia`.
        path: its header.
        x_CL: float32 [12, L] in mV, rows in `config.LEADS` order; L may be less than `length`.
        fs: samples per second, as recorded.
        codes: SNOMED-CT codes, or CURIEs such as `scp:IMI`, in the order given, each once.
        age: years, if known.
        sex: "F" or "M", if known.
        patient: the source's patient id, if it gives one.
        notes: what had to be mended or passed over.
        length: samples per lead in the file.
    """

    id: str
    source: str
    path: Path
    x_CL: NDArray[np.float32]
    fs: float
    codes: tuple[str, ...]
    age: float | None
    sex: str | None
    patient: str | None
    notes: tuple[str, ...]
    length: int


Reader = Callable[..., Record]
"""Reads one record, or its first seconds (`seconds=`); raises `RecordError` when it can't be used."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Where a record is, which collection it belongs to, and how it is read.

    PTB-XL's have a fold; a record of a file of many has its row in it, and −1 stands for the whole file.
    """

    root: Path
    file: Path
    source: str
    read: Reader = field(compare=False)
    fold: int | None = None
    row: int = -1

    @property
    def path(self) -> str:
        """The file relative to its root, with `/` between folders; `#` and the row behind a file of many."""
        return self._file if self.row < 0 else f"{self._file}#{self.row}"

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Candidates are sorted by the names of their folders and files, and by their rows."""
        return self.root.name, self._file, self.row, str(self.root)

    @property
    def _file(self) -> str:
        return str(self.file).removeprefix(str(self.root)).lstrip("/")  # a million times: no pathlib


def age_in_years(text: str | None) -> float | None:
    """A plausible age, or None for `NaN`, `Unknown` and the like."""
    try:
        age = float(text or "nan")
    except ValueError:
        return None
    return age if 0 <= age <= 120 else None


def sex_letter(text: str | None) -> str | None:
    """`F` or `M` for `Female`, `female`, `F`, `Male`, …; None for anything else."""
    return {"f": "F", "female": "F", "m": "M", "male": "M"}.get((text or "").strip().lower())


def on_disk(file: Path) -> bool:
    """Whether there is such a file."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def inside(file: Path, root: Path) -> bool:
    """Whether a file lies below a folder, wherever links lead."""
    try:
        return file.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError):
        return False
