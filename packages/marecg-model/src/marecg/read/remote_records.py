"""Records at an address: found by the names there; signals are fetched when they are read, a few ahead."""

import os
import shutil
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TypeVar

from marecg.base.errors import RecordError
from marecg.read.record import Candidate, ReadsRecords, Record
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
    """A source as a path: headers, tables and arrays at an address are copied now, and no signals.

    Raises:
        UsageError, InputError: as `copies.ensure_local`.
    """
    return ensure_local(where, _is_later)


def _is_later(path: str, listed: Collection[str]) -> bool:
    file = PurePosixPath(path)
    ending = file.suffix.lower()
    beside = ending == ".mat" and any(str(file.with_suffix(header)) in listed for header in _HEADERS)
    return ending in _LATER or beside


def fetched_when_read(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """The candidates of one root that `on_disk` copied."""
    for each in candidates:
        is_one_file = not (each.file.name.endswith(_HEADERS) or _is_later(each.file.name, ()))
        yield each if is_one_file else replace(each, reader=FetchingReader(each.reader))


@dataclass(frozen=True)
class FetchingReader:
    """Reads what another reader reads, after the record's files have been fetched.

    Attributes:
        reader: that one.
        folder: where they are, if somebody has fetched them.
    """

    reader: ReadsRecords
    folder: Path | None = field(default=None, compare=False)

    def read(self, candidate: Candidate, stretch: Stretch = WHOLE) -> Record:
        """Read one. Raises `RecordError` as the other reader, `InputError` where the store refuses."""
        with TemporaryDirectory(prefix="marecg-") as folder:
            root = (self.folder or _fetched(candidate, Path(folder))) / candidate.root.name
            file = root / candidate.file.relative_to(candidate.root)
            local = replace(candidate, reader=self.reader, root=root, file=file)
            try:
                record = self.reader.read(local, stretch)
            except RecordError as error:  # nobody knows the copy
                where = address(candidate.file) or candidate.file
                raise RecordError(error.reason, error.problem, where=where) from error
        return replace(record, path=candidate.file)


def _fetched(candidate: Candidate, folder: Path) -> Path:
    """The folder, when the candidate's root is in it, and in that its files. Raises `InputError`."""
    root = folder / candidate.root.name
    file = root / candidate.file.relative_to(candidate.root)
    file.parent.mkdir(parents=True)
    fetch(candidate.file, file)
    for name in _signals(file, root) if file.name.endswith(_HEADERS) else ():
        if os.path.lexists(candidate.file.with_name(name)):  # else the reader says that it is missing
            fetch(candidate.file.with_name(name), file.with_name(name))
    return folder


def _signals(header: Path, root: Path) -> set[str]:
    """The files that a header names, of those in its own folder."""
    try:
        names = {channel.file for channel in read_header(header, root).channels}
    except RecordError:  # the reader will say so
        return set()
    return {name for name in names if Path(name).name == name}


def ahead(candidates: Iterable[tuple[Key, Candidate]]) -> Iterator[tuple[Key, Candidate]]:
    """The same, in the same order; files at an address are fetched while earlier records are read.

    Raises:
        InputError: the store or this machine's disk refuses.
    """
    for is_remote, some in groupby(candidates, lambda pair: isinstance(pair[1].reader, FetchingReader)):
        hand_on = _ahead if is_remote else iter
        yield from hand_on(some)


def _ahead(candidates: Iterable[tuple[Key, Candidate]]) -> Iterator[tuple[Key, Candidate]]:
    waiting: deque[tuple[Key, Candidate, Future[Path]]] = deque()
    with TemporaryDirectory(prefix="marecg-") as folder, ThreadPoolExecutor(AHEAD) as pool:
        for number, pair in enumerate(chain(candidates, [None] * AHEAD)):
            if pair is not None:
                waiting.append((*pair, pool.submit(_fetched, pair[1], Path(folder, str(number)))))
            if len(waiting) > AHEAD or (waiting and pair is None):
                key, candidate, fetched = waiting.popleft()
                reader = FetchingReader(candidate.reader.reader, fetched.result())  # type: ignore[attr-defined]
                yield key, replace(candidate, reader=reader)
                shutil.rmtree(fetched.result())
