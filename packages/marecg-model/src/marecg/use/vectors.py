"""Embeddings on disk, written record by record: `.npz` and `.parquet`.

Shapes: M records, T patches of a record, D width, W wide readout.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_ontology import replacing
from marecg.config import ModelConfig
from marecg.errors import UsageError
from marecg.model.readout import wide_width
from marecg.use.embed import Readout, WideEmbeddings

TOLD = pa.schema(
    [
        ("record", pa.string()),  # its own name within its source
        ("source", pa.string()),
        ("patient", pa.string()),
        ("codes", pa.list_(pa.string())),
    ]
)
"""What a part tells of each record beside its name."""
GROUP, PATCH_GROUP = 8192, 64
"""Records per row group of a Parquet file without and with H̄: about 25 MB at the paper's width."""
Add = Callable[[str, WideEmbeddings], None]
"""Appends a record by its name."""
AddTold = Callable[[str, WideEmbeddings, Mapping[str, Any]], None]
"""The same with what is told of it."""


def lengths_of(config: ModelConfig, readout: Readout) -> dict[str, int]:
    """The vectors of a record that are written, by the names of their columns, and how long each is."""
    return {"rhythm": config.width} | ({"wide": wide_width(config)} if readout == "wide" else {})


@contextmanager
def writing(
    out: str | Path, config: ModelConfig, *, patches: bool = False, readout: Readout = "rhythm"
) -> Iterator[Add]:
    """Write embeddings to a file that appears whole when the block succeeds, or not at all.

    `.npz` holds `id` [M] and `rhythm` [M, D], with the wide readout `wide` [M, W]; with `patches` also
    `patch`, the rows of all records' H̄ one after another, and `patches`, how many each has. `.parquet` has
    the columns `id`, `rhythm`, `wide` and `patch`.

    Raises:
        UsageError: the file has another ending.
        OutputError: it can't be written.
    """
    out = Path(out)
    if out.suffix not in FORMATS:
        what = out.suffix or "a file without ending"
        remedy = f"Use {' or '.join(FORMATS)}, or end a folder's name in /"
        raise UsageError(f"can't write {what}", remedy=remedy)
    lengths = lengths_of(config, readout)
    with replacing(out) as temporary, FORMATS[out.suffix](temporary, lengths, patches) as add:
        yield add


@contextmanager
def _npz(path: Path, lengths: Mapping[str, int], patches: bool) -> Iterator[Add]:
    """Rows wait in nameless files, because an `.npz` member says its length first."""
    ids: list[str] = []
    counts: list[int] = []
    with ExitStack() as stack:
        names = (*lengths, *(["patch"] if patches else []))
        rows = {name: stack.enter_context(TemporaryFile(dir=path.parent)) for name in names}

        def add(name: str, embedded: WideEmbeddings) -> None:
            ids.append(name)
            counts.append(len(embedded.patch))
            for vector, file in rows.items():
                file.write(getattr(embedded, vector).tobytes())

        yield add
        arrays = {"id": np.array(ids)} | ({"patches": np.array(counts)} if patches else {})
        for name, file in rows.items():
            shape = (len(ids), lengths[name]) if name in lengths else (sum(counts), lengths["rhythm"])
            arrays[name] = np.memmap(file, "f4", "r", shape=shape)
        np.savez(path, allow_pickle=False, **arrays)


@contextmanager
def _parquet(path: Path, lengths: Mapping[str, int], patches: bool) -> Iterator[Add]:
    """Rows wait until they fill a row group."""
    with part(path, lengths, patches, {}) as (add, _):
        yield lambda name, embedded: add(name, embedded, {})


@contextmanager
def part(
    path: Path, lengths: Mapping[str, int], patches: bool, constants: Mapping[str, str]
) -> Iterator[tuple[AddTold, Callable[[Mapping[str, str]], None]]]:
    """Write a Parquet file whose columns tell of each record too: its name, `TOLD`, and what holds for all.

    Args:
        path: the file.
        lengths: the vectors by name, `rhythm` and perhaps `wide`, with their lengths.
        patches: whether H̄ is written.
        constants: columns that say the same of each record; without any there is no `TOLD` either.

    Yields:
        What appends a record with a value for each column of `TOLD`, and what adds metadata to the file.
    """
    width = lengths["rhythm"]
    vectors = {name: pa.list_(pa.float32(), length) for name, length in lengths.items()}
    told = {field.name: field.type for field in TOLD} if constants else {}
    schema = pa.schema(
        {"id": pa.string()}
        | told
        | dict.fromkeys(constants, pa.string())
        | vectors
        | ({"patch": pa.list_(vectors["rhythm"])} if patches else {})
    )
    group = PATCH_GROUP if patches else GROUP * width // sum(lengths.values())
    waiting: list[tuple[str, WideEmbeddings, Mapping[str, Any]]] = []
    with pq.ParquetWriter(path, schema, write_page_checksum=True) as file:

        def write() -> None:
            names, embedded, about = zip(*waiting, strict=True)
            columns = [pa.array(names)]
            columns += [pa.array([each[name] for each in about], kind) for name, kind in told.items()]
            columns += [pa.array([value] * len(names)) for value in constants.values()]
            for name, length in lengths.items():
                columns.append(_vectors([getattr(each, name) for each in embedded], length))
            if patches:
                ends = np.cumsum([0, *(len(each.patch) for each in embedded)], dtype=np.int32)
                rows = _vectors([each.patch for each in embedded], width)
                columns.append(pa.ListArray.from_arrays(ends, rows))
            file.write_table(pa.table(columns, schema=schema))
            waiting.clear()

        def add(name: str, embedded: WideEmbeddings, about: Mapping[str, Any]) -> None:
            waiting.append((name, embedded, about))
            if len(waiting) == group:
                write()

        yield add, file.add_key_value_metadata
        if waiting:
            write()


def _vectors(blocks: Sequence[NDArray[np.float32]], width: int) -> pa.FixedSizeListArray:
    flat = np.concatenate([block.ravel() for block in blocks])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), width)


FORMATS = {".npz": _npz, ".parquet": _parquet}
"""How each kind of file is written, by its ending."""
