"""Inputs of `marecg embed`: files, folders, arrays and prepared corpora.

Shapes: K leads, L samples.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

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
BLOCK = 1024
"""Number of records that are listed at a time."""


class Unread(NamedTuple):
    """Record that hasn't been read. It can be sent to another process, which reads it.

    Attributes:
        name: Unique name of the record.
        place: File of the record, which error messages name.
        read: Function that reads the record. It raises `RecordError` if the record is unusable.
    """

    name: str
    place: str
    read: Callable[..., Record]


@lru_cache(maxsize=2)
def _opened(folder: Path) -> tuple[Corpus, pa.Table]:
    return Corpus.open(folder), index.of(folder, RECORD_COLUMNS)


def _read_row(folder: Path, number: int, row: dict[str, Any], seconds: float | None = None) -> Record:
    """Read a window of a corpus without its padding. `seconds` is ignored."""
    corpus, _ = _opened(folder)
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


def _rows(folder: Path, first: int, last: int) -> list[Unread]:
    """Return the windows `first` to `last` − 1 of a corpus. They have the names of the original files."""
    rows = _opened(folder)[1].slice(first, last - first).to_pylist()
    return [
        Unread(name_of(row["root"], row["path"]), str(folder), partial(_read_row, folder, number, row))
        for number, row in enumerate(rows, start=first)
    ]


class Inputs:
    """Records of all inputs, in a fixed order: files first, then corpora.

    Args:
        inputs: Record files, folders, array files, corpora written by `marecg prepare`, or addresses of
            these.
        layout: Layout (rate, leads, units) of the array files among the inputs. Without a layout, array files
            in folders are skipped.
        step: Length of a step in seconds. Each step of a recording becomes a record.

    Raises:
        UsageError: If an array doesn't fit the layout, `step` is given for a corpus, or records of two inputs
            would have the same name.
        InputError: If an array file is unreadable, or there are no records.
        CorpusError: If a file doesn't exist, a folder contains no records, or a corpus is damaged.
    """

    def __init__(
        self, inputs: Sequence[str | Path], layout: Layout | None = None, step: float | None = None
    ) -> None:
        paths = [ensure_local(path) for path in inputs]
        folders = [path for path in paths if (path / CORPUS[0]).exists()]
        files = [path for path in paths if path not in folders]
        if step is not None and folders:
            remedy = "Give the original files of the corpus"
            raise UsageError("must be recordings, got a corpus of windows", where=folders[0], remedy=remedy)
        candidates: Iterable[tuple[str, Candidate]] = find_inputs(files, layout).items() if files else ()
        if step is not None:  # the name of a step ends in its start time in seconds
            steps = in_parts(candidates, partial(every, step), step)
            candidates = ((f"{name}@{part.part.start:.12g}", part) for name, part in steps)
        self._files = list(candidates)
        self._corpora = {folder.absolute(): len(_opened(folder.absolute())[0]) for folder in folders}
        if not len(self):
            where = ", ".join(str(path) for path in inputs)
            raise InputError("has no records", where=where, remedy="See report.json for the reasons")
        roots = [
            {candidate.root_name for _, candidate in self._files},
            *(set(_opened(folder)[1]["root"].unique().to_pylist()) for folder in self._corpora),
        ]
        shared = {
            name for number, names in enumerate(roots) for other in roots[:number] for name in names & other
        }
        if shared:
            problem = f"two inputs have records with the same name, {min(shared)}/…"
            remedy = "Embed them separately, or rename a folder and prepare it again"
            raise UsageError(problem, remedy=remedy)

    def __len__(self) -> int:
        return len(self._files) + sum(self._corpora.values())

    def part(self, first: int, last: int) -> list[Unread]:
        """Return the records `first` to `last` − 1."""
        records = [
            Unread(name, candidate.place, partial(read_mended, candidate))
            for name, candidate in self._files[first:last]
        ]
        start = len(self._files)
        for folder, count in self._corpora.items():
            begin, end = max(first - start, 0), min(last - start, count)
            records += _rows(folder, begin, end) if begin < end else []
            start += count
        return records

    def __iter__(self) -> Iterator[Unread]:
        for first in range(0, len(self), BLOCK):
            yield from self.part(first, first + BLOCK)

    def refuse(self, out: Path) -> None:
        """Raise `UsageError` if an output would overwrite an input file."""
        same_name = (candidate.file for _, candidate in self._files if candidate.file.name == out.name)
        if out.exists() and any(file.samefile(out) for file in dict.fromkeys(same_name)):
            raise UsageError(
                "is an input and would be lost", where=out, remedy="Choose another file as --out"
            )

    def hashed(self, manifest: Mapping[str, Any] | None = None) -> SourcesHash:
        """Return a hash of the records. It doesn't depend on the paths of their folders.

        Args:
            manifest: Manifest of an interrupted call (`embedding_store.manifest`), whose hashes are reused.
        """
        files = hash_sources([candidate for _, candidate in self._files], manifest)
        digest = hashlib.sha256(files.sha256.encode())
        digest.update("\n".join(name for name, _ in self._files).encode())
        for folder in self._corpora:
            digest.update((folder / CORPUS[0]).read_bytes())
        return SourcesHash(digest.hexdigest(), files.unhashed)
