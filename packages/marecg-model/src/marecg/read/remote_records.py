"""Records in a store: found by the names there; each one's signal is brought when it is read, a few ahead."""

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TypeVar

from marecg.base.errors import RecordError
from marecg.read.record import Candidate, Reader, Record
from marecg.read.stretch import WHOLE, Stretch
from marecg.read.wfdb_header import read_header
from marecg.storage.copies import address, ensure_local, fetch

Key = TypeVar("Key")
AHEAD = 32
"""Records whose signals are on their way while one is read."""
_LATER = frozenset({".dat", ".dcm", ".dicom", ".edf", ".scp", ".xml", ".xyz"})
"""Endings of files that hold one record's signal, and nothing that finding records asks for."""
_HEADERS = (".hea", ".HEA")


def on_disk(where: str | Path) -> Path:
    """A source as a path: headers, tables and arrays of a store are copied now, signals when they are read.

    Raises:
        UsageError, InputError: as `copies.ensure_local`.
    """
    return ensure_local(where, _is_later)


def _is_later(path: str, listed: Collection[str]) -> bool:
    file = PurePosixPath(path)
    ending = file.suffix.lower()
    beside = ending == ".mat" and any(str(file.with_suffix(header)) in listed for header in _HEADERS)
    return ending in _LATER or beside


def brought(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """The candidates of one root; those of a store are read by `FromStore`."""
    for candidate in candidates:
        name = candidate.file.name
        if name.endswith(_HEADERS) or _is_later(name, ()):
            yield replace(candidate, reader=FromStore(candidate.reader))
        else:
            yield candidate


@dataclass(frozen=True)
class FromStore:
    """Reads what another reader reads, after the record's files have come.

    Attributes:
        reader: that one.
        folder: where they are, if somebody has seen to it.
    """

    reader: Reader
    folder: str | None = field(default=None, compare=False)

    @property
    def source(self) -> str:
        """The other reader's."""
        return self.reader.source

    @property
    def marks(self) -> Sequence[str]:
        """The other reader's."""
        return self.reader.marks

    def is_root(self, folder: Path) -> bool:
        """As the other reader says."""
        return self.reader.is_root(folder)

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """Those of the other reader."""
        return brought(self.reader.candidates(root))

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read one. Raises `RecordError` as the other reader, `InputError` where the store refuses."""
        with ExitStack() as stack:
            folder = self.folder or stack.enter_context(fetched(candidate))
            root = Path(folder, candidate.root.name)
            file = root / candidate.file.relative_to(candidate.root)
            try:
                there = replace(candidate, reader=self.reader, root=root, file=file)
                record = self.reader.read(there, stretch)
            except RecordError as error:
                where = address(candidate.file) or candidate.file
                raise RecordError(error.reason, error.problem, where=where) from error
        return replace(record, path=candidate.file)


def fetched(candidate: Candidate) -> "TemporaryDirectory[str]":
    """A folder with the candidate's root in it, and in that the candidate's files; its user removes it.

    Raises:
        InputError: the store or this machine's disk refuses.
    """
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="marecg-")
    try:
        root = Path(folder.name, candidate.root.name)
        file = root / candidate.file.relative_to(candidate.root)
        file.parent.mkdir(parents=True)
        fetch(candidate.file, file)
        for name in _signals(file, root) if file.name.endswith(_HEADERS) else ():
            if os.path.lexists(candidate.file.with_name(name)):  # else the reader says that it is missing
                fetch(candidate.file.with_name(name), file.with_name(name))
    except BaseException:
        folder.cleanup()
        raise
    return folder


def _signals(header: Path, root: Path) -> set[str]:
    """The files that a header names, of those in its own folder."""
    try:
        names = {channel.file for channel in read_header(header, root).channels}
    except RecordError:  # the reader will say so
        return set()
    return {name for name in names if Path(name).name == name}


def ahead(found: Iterable[tuple[Key, Candidate]]) -> Iterator[tuple[Key, Candidate]]:
    """The same, in the same order; files of those in a store come while earlier records are read.

    Raises:
        InputError: as `fetched`.
    """
    waiting: deque[tuple[Key, Candidate, Future[TemporaryDirectory[str]] | None]] = deque()
    with ThreadPoolExecutor(AHEAD) as pool:
        try:
            for key, candidate in found:
                coming = pool.submit(fetched, candidate) if isinstance(candidate.reader, FromStore) else None
                waiting.append((key, candidate, coming))
                if coming is None or len(waiting) > AHEAD:
                    yield from _come(waiting, AHEAD if coming else 0)
            yield from _come(waiting, 0)
        finally:
            for _, _, coming in waiting:
                if coming is not None and not coming.cancel() and coming.exception() is None:
                    coming.result().cleanup()


def _come(
    waiting: "deque[tuple[Key, Candidate, Future[TemporaryDirectory[str]] | None]]", most: int
) -> Iterator[tuple[Key, Candidate]]:
    """Hand on the first of those that are waiting until there are no more than `most`."""
    while len(waiting) > most:
        key, candidate, coming = waiting.popleft()
        if coming is None:
            yield key, candidate
            continue
        with coming.result() as folder:
            reader = candidate.reader
            assert isinstance(reader, FromStore)
            yield key, replace(candidate, reader=replace(reader, folder=folder))
