"""A record that was found but not yet read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from marecg.data.records import Record

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
