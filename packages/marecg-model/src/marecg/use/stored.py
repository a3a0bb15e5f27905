"""Embeddings read back, block by block: an `.npz`, a `.parquet`, or a folder of parts.

Shapes: B records of a block, W width of a vector.
"""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from marecg.errors import EcgError, InputError, UsageError
from marecg.places import Place, is_remote

PARTS = "part-*.parquet"
"""The files of a folder of embeddings, in the order of their names."""
VECTORS = ("rhythm", "wide")
"""Columns of vectors, all of one length."""
BLOCK = 8192
"""Records at a time: 25 MB of h_rhythm at the paper's width."""


def blocks(path: str | Path, columns: Sequence[str], beside: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Read columns of embeddings as they lie in the file or in the folder's parts, a block at a time.

    Args:
        path: what `marecg embed` wrote, or the address of a folder of parts.
        columns: such as `id` and `rhythm`.
        beside: columns that are read where there are such.

    Raises:
        UsageError: there is no such column.
        InputError: there is no such file, or it can't be read.
    """
    one = None if is_remote(path) or Path(path).is_dir() else Path(path)
    place = Place(path if one is None else one.parent)
    names = place.names(PARTS) if one is None else [one.name]
    if not names:
        raise InputError(f"holds no {PARTS}", where=path, remedy="Name what marecg embed wrote")
    for name in names:
        part = place.file(name)
        try:
            with place.open(name) as file:
                for block in (_npz if name.endswith(".npz") else _parquet)(file, part, columns, beside):
                    _check(block, part)
                    yield block
        except EcgError:
            raise
        except (OSError, ValueError, TypeError, EOFError, zipfile.BadZipFile, pa.ArrowException) as error:
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"can't be read ({said})", where=part, remedy="Name what marecg embed wrote"
            ) from error


def vectors(block: pa.RecordBatch, column: str) -> NDArray[np.float32]:
    """A column of vectors, float32 [B, W]."""
    found = block.column(column)
    x: NDArray[np.float32] = found.flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    return x.reshape(len(block), found.type.list_size)


def _check(block: pa.RecordBatch, where: str) -> None:
    """See that names are text and vectors are vectors. Raises `InputError`."""
    for column, values in zip(block.schema.names, block.columns, strict=True):
        kind = values.type
        vectors_of_one_length = pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type)
        right = {
            "id": pa.types.is_string(kind) or pa.types.is_large_string(kind),
            **dict.fromkeys(VECTORS, vectors_of_one_length and not values.null_count),
        }
        if not right.get(column, True):
            problem = f"{column} holds {kind}, which marecg embed does not write"
            raise InputError(problem, where=where, remedy="Name what it wrote")


def _npz(
    file: IO[bytes], where: str, columns: Sequence[str], beside: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    with np.load(file, allow_pickle=False) as kept:
        wanted = _present(where, columns, beside, kept.files)
        arrays = {name: kept[name] for name in wanted}
    for first in range(0, len(arrays[wanted[0]]), BLOCK):
        yield pa.record_batch({name: _column(array[first : first + BLOCK]) for name, array in arrays.items()})


def _column(array: NDArray[np.generic]) -> pa.Array:
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), array.shape[1])


def _parquet(
    file: IO[bytes], where: str, columns: Sequence[str], beside: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(file) as part:
        wanted = _present(where, columns, beside, part.schema_arrow.names)
        yield from part.iter_batches(BLOCK, columns=wanted)


def _present(where: str, columns: Sequence[str], beside: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns to read. Raises `UsageError` where one of those that must be there is not."""
    missing = [name for name in columns if name not in names]
    if missing:
        remedy = "Embed with --readout wide" if missing[0] == "wide" else "Name what marecg embed wrote"
        raise UsageError(f"has no column {missing[0]}", where=where, remedy=remedy)
    return [*columns, *(name for name in beside if name in names)]
