"""Inputs of `marecg embed` in one order: files, folders, arrays and prepared corpora.

Shapes: K leads, L samples.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import CORPUS, SourcesHash, hash_sources
from ecg_records.readers.inputs import find_inputs, read_mended
from ecg_records.readers.parts import every, in_parts, name_of
from ecg_records.record import Candidate, Record
from ecg_records.storage.copies import ensure_local
from marecg.corpus import index
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError, InputError, Reason, RecordError, UsageError

RECORD_COLUMNS = ["id", "source", "root", "path", "n_valid", "codes", "age", "sex", "patient"]
Named = tuple[str, str, Callable[..., Record]]
"""Name of a record, its place for messages, and a function that reads it or raises `RecordError`."""


@dataclass(frozen=True)
class Files:
    """Records in files, by name."""

    candidates: tuple[tuple[str, Candidate], ...]

    def __len__(self) -> int:
        return len(self.candidates)

    def part(self, first: int, last: int) -> "Files":
        """Return the records from number `first` up to `last`."""
        return Files(self.candidates[first:last])

    def __iter__(self) -> Iterator[Named]:
        return (
            (name, candidate.place, partial(read_mended, candidate)) for name, candidate in self.candidates
        )


@dataclass(frozen=True)
class CorpusRows:
    """Windows of a prepared corpus without padding, named after their original files."""

    folder: Path
    first: int
    last: int

    @classmethod
    def of(cls, folder: Path) -> "CorpusRows":
        """Return all windows of a corpus. Raises `CorpusError` as `Corpus.open`."""
        return cls(folder, 0, len(_opened(folder)[0]))

    def __len__(self) -> int:
        return self.last - self.first

    def part(self, first: int, last: int) -> "CorpusRows":
        """Return the windows from number `first` up to `last`."""
        return CorpusRows(self.folder, self.first + first, self.first + min(last, len(self)))

    def __iter__(self) -> Iterator[Named]:
        corpus, rows = _opened(self.folder)
        for number, row in enumerate(rows.slice(self.first, len(self)).to_pylist(), start=self.first):
            name = name_of(row["root"], row["path"])
            yield name, str(self.folder), partial(_record, corpus, number, row)

    @property
    def roots(self) -> set[str]:
        """Return the names of the records' original folders."""
        return set(_opened(self.folder)[1]["root"].unique().to_pylist())


Source = Files | CorpusRows
"""Unread records in a fixed order, which can be sent to other processes."""


@lru_cache(maxsize=2)
def _opened(folder: Path) -> tuple[Corpus, pa.Table]:
    return Corpus.open(folder), index.of(folder, RECORD_COLUMNS)


def _record(corpus: Corpus, number: int, row: dict[str, Any], seconds: float | None = None) -> Record:
    """Read a window as a record. The window is always read completely, whatever `seconds` is."""
    try:
        x_KL = corpus.signals([number])[0, :, : row["n_valid"]]
    except CorpusError as error:
        raise RecordError(Reason.unreadable, error.problem, where=error.where) from error
    values = {name: row[name] for name in ("id", "source", "age", "sex", "patient")}
    return Record(
        path=corpus.folder,
        x_KL=x_KL,
        fs=corpus.config.fs,
        codes=tuple(row["codes"]),
        notes=(),
        length=row["n_valid"],
        **values,
    )


class Inputs:
    """Unread records by name: files, then corpora, in a fixed order.

    Args:
        inputs: headers, folders, array files, corpora written by `marecg prepare`, or addresses of these.
        layout: meaning of the arrays. Without it, arrays in folders are ignored.
        step: seconds; each recording becomes a record for each such step.

    Raises:
        UsageError: as for `find_inputs`; or `step` is given for a corpus, which holds windows; or records of
            two inputs would have the same name.
        InputError: an input is unreadable, or the corpora hold no records.
    """

    def __init__(
        self, inputs: Sequence[str | Path], layout: Layout | None = None, step: float | None = None
    ) -> None:
        paths = [ensure_local(path) for path in inputs]
        folders = [path for path in paths if (path / CORPUS[0]).exists()]
        others = [path for path in paths if path not in folders]
        if step is not None and folders:
            remedy = "Give the files that it was prepared from"
            raise UsageError("holds windows, not recordings", where=folders[0], remedy=remedy)
        candidates: Iterable[tuple[str, Candidate]] = find_inputs(others, layout).items() if others else ()
        if step is not None:  # a step's name ends in the second at which it begins
            steps = in_parts(candidates, partial(every, step), step)
            candidates = ((f"{name}@{part.part.start:.12g}", part) for name, part in steps)
        self._files = Files(tuple(candidates))
        self._corpora = [CorpusRows.of(folder.absolute()) for folder in folders]
        self._sources: list[Source] = [self._files, *self._corpora]
        if not len(self):
            where = ", ".join(str(path) for path in inputs)
            raise InputError("holds no records", where=where, remedy="report.json says why nothing was kept")
        roots = [
            {candidate.root_name for _, candidate in self._files.candidates},
            *(corpus.roots for corpus in self._corpora),
        ]
        shared = {name for place, one in enumerate(roots) for other in roots[:place] for name in one & other}
        if shared:
            problem = f"records of two inputs would be called {min(shared)}/…"
            remedy = "Write them to two places, or rename a folder and prepare it again"
            raise UsageError(problem, remedy=remedy)

    def __len__(self) -> int:
        return sum(map(len, self._sources))

    def part(self, first: int, last: int) -> list[Source]:
        """Return the records from number `first` up to `last`."""
        parts, start = [], 0
        for source in self._sources:
            begin, end = max(first - start, 0), min(last - start, len(source))
            parts += [source.part(begin, end)] if begin < end else []
            start += len(source)
        return parts

    def refuse(self, out: Path) -> None:
        """Check that an output isn't an input file. Raises `UsageError`."""
        alike = (candidate.file for _, candidate in self._files.candidates if candidate.file.name == out.name)
        if out.exists() and any(file.samefile(out) for file in dict.fromkeys(alike)):
            raise UsageError("is an input, and would be lost", where=out, remedy="Name another file as --out")

    def hashed(self, manifest: Mapping[str, Any] | None = None) -> SourcesHash:
        """Hash the records, independent of where their folders are mounted.

        `manifest` is passed to `hash_sources`.
        """
        candidates = self._files.candidates
        files = hash_sources([candidate for _, candidate in candidates], manifest)
        digest = hashlib.sha256(files.sha256.encode())
        digest.update("\n".join(name for name, _ in candidates).encode())
        for corpus in self._corpora:
            digest.update((corpus.folder / CORPUS[0]).read_bytes())
        return SourcesHash(digest.hexdigest(), files.unhashed)
