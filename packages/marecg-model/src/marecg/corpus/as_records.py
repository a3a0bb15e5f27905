"""The records of a prepared corpus as `read.Record`, for whatever reads records.

Shapes: K leads as found, C leads, L samples.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from marecg.corpus import index
from marecg.corpus.prepared import MILLIVOLTS_PER_UNIT, Corpus, open_shard, read_about, refuse_cut
from marecg.errors import CorpusError, Reason, RecordError
from marecg.read.record import Candidate, Record, name_of

_COLUMNS = ["id", "source", "root", "path", "shard", "row", "n_valid", "codes", "age", "sex", "patient"]


class Kept(NamedTuple):
    """What an index says of a record, and where its window lies."""

    id: str
    shard_rows: int
    n_valid: int
    fs: int
    window: int
    codes: tuple[str, ...]
    age: float | None
    sex: str | None
    patient: str | None


class PreparedRows:
    """The windows of a prepared corpus without their padding, in its order; made as they are asked for.

    Args:
        folder: the corpus.

    Raises:
        CorpusError: as `Corpus.open`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = Corpus.open(folder).config
        self._shards = list(read_about(folder)["shards"].items())
        self._rows: pa.Table = index.read(folder / "index.parquet", _COLUMNS)

    @property
    def roots(self) -> frozenset[str]:
        """What the folders were called that the records came from."""
        return frozenset(self._rows["root"].unique().to_pylist())

    def __len__(self) -> int:
        return len(self._rows)

    def named(self, first: int, last: int) -> list[tuple[str, Candidate]]:
        """Some records by the names that they have in the folder they were prepared from."""
        return [
            (name_of(row["root"], row["path"]), self._candidate(row))
            for row in self._rows.slice(first, last - first).to_pylist()
        ]

    def _candidate(self, row: dict[str, Any]) -> Candidate:
        shard, shard_rows = self._shards[row["shard"]]
        kept = Kept(
            row["id"],
            shard_rows,
            row["n_valid"],
            self.config.fs,
            self.config.window,
            tuple(row["codes"]),
            row["age"],
            row["sex"],
            row["patient"],
        )
        file = self.folder / "shards" / shard
        return Candidate(self.folder, file, row["source"], READER, kept, row=row["row"])


class _Reader:
    """Reads the windows; no folder is searched for it."""

    source = "corpus"
    marks: Sequence[str] = ()

    def is_root(self, folder: Path) -> bool:
        """A prepared corpus is no source of another."""
        return False

    def candidates(self, root: Path) -> Iterator[Candidate]:
        """None."""
        return iter(())

    def read(self, candidate: Candidate, seconds: float | None = None) -> Record:
        """One window, or its first seconds. Raises `RecordError` where its shard is damaged."""
        kept: Kept = candidate.about
        samples = kept.n_valid if seconds is None else min(kept.n_valid, round(seconds * kept.fs))
        try:
            shard = _opened(candidate.file, kept.shard_rows, kept.window)
            refuse_cut(shard)
        except CorpusError as error:
            raise RecordError(Reason.unreadable, error.problem, where=candidate.place) from error
        return Record(
            id=kept.id,
            source=candidate.source,
            path=candidate.file,
            x_KL=shard[candidate.row, :, :samples] * MILLIVOLTS_PER_UNIT,
            fs=kept.fs,
            codes=kept.codes,
            age=kept.age,
            sex=kept.sex,
            patient=kept.patient,
            notes=(),
            length=kept.n_valid,
        )


READER = _Reader()


@lru_cache(maxsize=8)
def _opened(file: Path, rows: int, window: int) -> NDArray[np.int16]:
    return open_shard(file, rows, window)
