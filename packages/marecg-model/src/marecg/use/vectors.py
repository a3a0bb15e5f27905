"""Embeddings on disk, written record by record: `.npz` and `.parquet`.

Shapes: M records, T patches of a record, D width.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_ontology.files import replacing
from marecg.errors import UsageError
from marecg.use.embed import Embeddings

GROUP, PATCH_GROUP = 8192, 64
"""Records per row group of a Parquet file without and with H̄: about 25 MB at the paper's width."""
Add = Callable[[str, Embeddings], None]
"""Appends a record by its name."""


@contextmanager
def writing(out: str | Path, width: int, *, patches: bool = False) -> Iterator[Add]:
    """Write embeddings to a file that appears whole when the block succeeds, or not at all.

    `.npz` holds `id` [M] and `rhythm` [M, D]; with `patches` also `patch`, the rows of all records' H̄ one
    after another, and `patches`, how many each has. `.parquet` has the columns `id`, `rhythm`, and `patch`.

    Raises:
        UsageError: the file has another ending.
        OutputError: it can't be written.
    """
    out = Path(out)
    if out.suffix not in FORMATS:
        raise UsageError(
            f"can't write {out.suffix or 'a file without ending'}", remedy=f"Use {' or '.join(FORMATS)}"
        )
    with replacing(out) as temporary, FORMATS[out.suffix](temporary, width, patches) as add:
        yield add


@contextmanager
def _npz(path: Path, width: int, patches: bool) -> Iterator[Add]:
    """Rows wait in nameless files, because an `.npz` member says its length first."""
    ids: list[str] = []
    counts: list[int] = []
    with TemporaryFile(dir=path.parent) as rhythm, TemporaryFile(dir=path.parent) as patch:

        def add(name: str, embedded: Embeddings) -> None:
            ids.append(name)
            rhythm.write(embedded.rhythm.tobytes())
            if patches:
                counts.append(len(embedded.patch))
                patch.write(embedded.patch.tobytes())

        yield add
        arrays = {"id": np.array(ids), "rhythm": np.memmap(rhythm, "f4", "r", shape=(len(ids), width))}
        if patches:
            arrays["patches"] = np.array(counts)
            arrays["patch"] = np.memmap(patch, "f4", "r", shape=(sum(counts), width))
        np.savez(path, allow_pickle=False, **arrays)


@contextmanager
def _parquet(path: Path, width: int, patches: bool) -> Iterator[Add]:
    """Rows wait until they fill a row group."""
    vector = pa.list_(pa.float32(), width)
    schema = pa.schema(
        {"id": pa.string(), "rhythm": vector} | ({"patch": pa.list_(vector)} if patches else {})
    )
    waiting: list[tuple[str, Embeddings]] = []
    with pq.ParquetWriter(path, schema) as file:

        def write() -> None:
            names, embedded = zip(*waiting, strict=True)
            columns = [pa.array(names), _vectors([each.rhythm for each in embedded], width)]
            if patches:
                ends = np.cumsum([0, *(len(each.patch) for each in embedded)], dtype=np.int32)
                rows = _vectors([each.patch for each in embedded], width)
                columns.append(pa.ListArray.from_arrays(ends, rows))
            file.write_table(pa.table(columns, schema=schema))
            waiting.clear()

        def add(name: str, embedded: Embeddings) -> None:
            waiting.append((name, embedded))
            if len(waiting) == (PATCH_GROUP if patches else GROUP):
                write()

        yield add
        if waiting:
            write()


def _vectors(blocks: Sequence[NDArray[np.float32]], width: int) -> pa.FixedSizeListArray:
    flat = np.concatenate([block.ravel() for block in blocks])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), width)


FORMATS = {".npz": _npz, ".parquet": _parquet}
"""How each kind of file is written, by its ending."""
