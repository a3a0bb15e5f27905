"""Write, join and read files of embeddings.

Shapes: M records, B records of a block, T patches of a record, D width, W values of any vector.
"""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ecg_base import parquet_batches, refuse_zip_bomb
from ecg_records.storage.places import Place, is_remote
from marecg.base.numbers import refuse_impossible
from marecg.embedding.embed import WideEmbeddings
from marecg.errors import EcgError, InputError, UsageError
from marecg.model.config import ModelConfig
from marecg.model.readout import Readout, readout_width

npy: Any = np.lib.format  # it has no types

AGAIN = "Give a file or folder written by marecg embed"
"""Remedy for a file that isn't embeddings."""
PARTS = "part-*.parquet"
"""Pattern for the files in a folder of embeddings. They are read in the order of their names."""
RECORD_FIELDS = pa.schema(
    [
        ("id", pa.string()),
        ("record", pa.string()),  # name within its source
        ("source", pa.string()),
        ("patient", pa.string()),
        ("start", pa.float64()),  # beginning of a step, in seconds of the recording
        ("codes", pa.list_(pa.string())),
        ("weights_sha256", pa.string()),
        ("ontology_sha256", pa.string()),
    ]
)
"""Columns that describe a record."""
READOUTS = ("wide", "beats", "full")
"""Columns with the vectors of a readout. A file has at most one of these columns."""
VECTORS = ("rhythm", *READOUTS)
"""Columns with vectors. All vectors in a column have the same length."""
GROUP, PATCH_GROUP = 8192, 64
"""Number of records per row group of a Parquet file, without and with patch embeddings: about 25 MB."""
BATCH_ROWS = 8192
"""Number of records that are read at a time. At the paper's width, h_rhythm takes 25 MB."""


def schema(config: ModelConfig, readout: Readout, *, patches: bool) -> pa.Schema:
    """Return the columns of a file of embeddings, and their types.

    These are `RECORD_FIELDS` and the record embedding `rhythm`, [D]. If the readout isn't `rhythm`, a column
    with the readout's name contains it. If `patches` is True, the column `patch` contains the patch
    embeddings, [T, D].
    """
    widths = {"rhythm": config.width}
    if readout != "rhythm":
        widths[readout] = readout_width(config, readout)
    vectors = {name: pa.list_(pa.float32(), width) for name, width in widths.items()}
    return pa.schema(
        [*RECORD_FIELDS, *vectors.items(), *([("patch", pa.list_(vectors["rhythm"]))] if patches else [])]
    )


def write(
    path: Path,
    columns: pa.Schema,
    rows: Iterable[tuple[Mapping[str, Any], WideEmbeddings]],
    metadata: Callable[[], Mapping[str, str]],
) -> None:
    """Write a Parquet file of embeddings.

    Args:
        path: Path of the file.
        columns: Columns of the file, as returned by `schema`.
        rows: For each record, the values of `RECORD_FIELDS` by name, and the embeddings.
        metadata: Function that returns the metadata of the file. It is called after the last row.
    """
    rows = iter(rows)
    with pq.ParquetWriter(path, columns, write_page_checksum=True) as file:
        while group := list(islice(rows, _group(columns))):
            values, vectors = zip(*group, strict=True)
            arrays = [pa.array([row[field.name] for row in values], field.type) for field in RECORD_FIELDS]
            for name in _vector_names(columns):
                attribute = "rhythm" if name == "rhythm" else "wide"
                arrays.append(_vectors([getattr(vector, attribute) for vector in vectors]))
            if "patch" in columns.names:
                ends = np.cumsum([0, *(len(vector.patch) for vector in vectors)], dtype=np.int32)
                arrays.append(pa.ListArray.from_arrays(ends, _vectors([vector.patch for vector in vectors])))
            file.write_table(pa.table(arrays, schema=columns))
        file.add_key_value_metadata(metadata())


def _group(columns: pa.Schema) -> int:
    if "patch" in columns.names:
        return PATCH_GROUP
    widths: list[int] = [columns.field(name).type.list_size for name in _vector_names(columns)]
    return max(1, GROUP * widths[0] // sum(widths))


def _vector_names(columns: pa.Schema) -> list[str]:
    return [name for name in VECTORS if name in columns.names]


def _vectors(blocks: Sequence[NDArray[np.float32]]) -> pa.FixedSizeListArray:
    flat = np.concatenate([block.ravel() for block in blocks])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), blocks[0].shape[-1])


def gather_parquet(parts: Sequence[Path], path: Path) -> None:
    """Join Parquet files of embeddings, the parts, into a single Parquet file."""
    columns = pq.read_schema(parts[0]).remove_metadata()
    with pq.ParquetWriter(path, columns, write_page_checksum=True) as file:
        for part in parts:
            file.write_table(pq.read_table(part).replace_schema_metadata(None), _group(columns))


def gather_npz(parts: Sequence[Path], path: Path) -> None:
    """Join Parquet files of embeddings, the parts, into an `.npz` file.

    Its arrays are `id`, `record`, `source` and `start` [M], `rhythm` [M, D], and the readout [M, W] if the
    parts have a readout. If the parts have patch embeddings, `patch` contains the embeddings of all records
    in sequence, and `patches` the number of patches of each record.
    """
    columns = pq.read_schema(parts[0])
    arrays: dict[str, NDArray[Any]] = {
        name: np.array([cell for part in parts for cell in _column(part, name).to_pylist()])
        for name in ("id", "record", "source", "start")
    }
    rows = dict.fromkeys(_vector_names(columns), len(arrays["id"]))
    if "patch" in columns.names:
        counts = [length for part in parts for length in _column(part, "patch").value_lengths().to_pylist()]
        arrays["patches"], rows["patch"] = np.array(counts), sum(counts)
    with zipfile.ZipFile(path, "w") as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)
        for name, count in rows.items():
            width = columns.field("rhythm" if name == "patch" else name).type.list_size
            header = {"descr": "<f4", "fortran_order": False, "shape": (count, width)}
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array_header_1_0(member, header)
                for part in parts:
                    flat = _column(part, name).flatten()
                    member.write((flat.flatten() if name == "patch" else flat).to_numpy().tobytes())


def _column(part: Path, name: str) -> pa.Array:
    return pq.read_table(part, columns=[name])[name].combine_chunks()


FORMATS = {".npz": gather_npz, ".parquet": gather_parquet}
"""Functions that join parts into a file, by the suffix of the file."""


def blocks(path: str | Path, columns: Sequence[str], further: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Read columns of embeddings block by block.

    Args:
        path: File or folder written by `marecg embed`, or the address of such a folder.
        columns: Columns to read.
        further: Columns that are read only if they exist.

    Raises:
        UsageError: If one of `columns` is missing.
        InputError: If a file is missing or unreadable.
    """
    single = None if is_remote(path) or Path(path).is_dir() else Path(path)
    folder = Place(path if single is None else single.parent)
    names = folder.names(PARTS) if single is None else [single.name]
    if not names:
        raise InputError(f"has no {PARTS}", where=path, remedy=AGAIN)
    for name in names:
        part = folder.file(name)
        try:
            with folder.open(name) as file:
                for block in (_npz if name.endswith(".npz") else _parquet)(file, part, columns, further):
                    _check(block, part)
                    yield block
        except EcgError:
            raise
        except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, pa.ArrowException) as error:
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"can't be read ({problem})", where=part, remedy=AGAIN) from error


def vectors(block: pa.RecordBatch, column: str) -> NDArray[np.float32]:
    """Return the vectors in a column of a block of B records, float32 [B, W]."""
    values = block.column(column)
    x: NDArray[np.float32] = values.flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    return x.reshape(len(block), values.type.list_size)


def _check(block: pa.RecordBatch, where: str) -> None:
    """Raise `InputError` if a column has a type that `marecg embed` doesn't write, or invalid numbers."""
    for column, values in zip(block.schema.names, block.columns, strict=True):
        column_type, is_valid = values.type, True
        if column == "id":
            is_valid = pa.types.is_string(column_type) or pa.types.is_large_string(column_type)
        elif column in VECTORS:
            is_list = pa.types.is_fixed_size_list(column_type)
            is_valid = is_list and pa.types.is_floating(column_type.value_type) and not values.null_count
            if is_valid:
                refuse_impossible(vectors(block, column), column, where, "Embed it again")
        if not is_valid:
            problem = f"{column} has type {column_type}, which marecg embed doesn't write"
            raise InputError(problem, where=where, remedy=AGAIN)


def _npz(
    file: IO[bytes], where: str, columns: Sequence[str], further: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    with np.load(file, allow_pickle=False) as members:
        refuse_zip_bomb(members.zip, where, AGAIN)
        names = _present(where, columns, further, members.files)
        arrays = {name: members[name] for name in names}
    for first in range(0, len(arrays[names[0]]), BATCH_ROWS):
        cut = {name: array[first : first + BATCH_ROWS] for name, array in arrays.items()}
        yield pa.record_batch(
            {name: pa.array(array) if array.ndim == 1 else _vectors([array]) for name, array in cut.items()}
        )


def _parquet(
    file: IO[bytes], where: str, columns: Sequence[str], further: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    names = _present(where, columns, further, pq.read_schema(file).names)
    for table in parquet_batches(file, names, BATCH_ROWS, where=where, remedy=AGAIN):
        yield from table.to_batches()


def _present(where: str, columns: Sequence[str], further: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names of the columns to read. Raises `UsageError` if one of `columns` is missing."""
    missing = [name for name in columns if name not in names]
    if missing:
        remedy = f"Embed with --readout {missing[0]}" if missing[0] in READOUTS else AGAIN
        raise UsageError(f"has no column {missing[0]}", where=where, remedy=remedy)
    return [*columns, *(name for name in further if name in names)]
