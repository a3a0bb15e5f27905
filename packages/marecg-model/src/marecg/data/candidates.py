"""A record that was found but not yet read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from marecg.data.records import Record

Reader = Callable[..., Record]
"""Reads one record, or its first seconds (`seconds=`); raises `RecordError` when it can't be used."""


@dataclass(frozen=True)
class Candidate:
    """Where a record is, which collection it belongs to, and how it is read; PTB-XL's have a fold."""

    root: Path
    file: Path
    source: str
    read: Reader = field(compare=False)
    fold: int | None = None

    @property
    def path(self) -> str:
        """The file relative to its root, with `/` between folders."""
        return self.file.relative_to(self.root).as_posix()
