"""Read and write the index of a prepared corpus: `index.parquet`, with a row for each kept record."""

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ecg_base import file_sha256, parquet_batches, refuse_pipe, replacing, write_text
from ecg_records.machine import MEASURED
from ecg_records.storage import documents
from marecg.base.numbers import refuse_impossible
from marecg.errors import CorpusError

FILE, ABOUT = "index.parquet", "corpus.json"
FORMAT = 1
"""Version of the folder's layout. Other versions are refused."""

AGAIN = "Remove the corpus and prepare it again"
"""Remedy for a damaged corpus."""

MOST_JSON_BYTES = 1 << 28
"""Maximum bytes of corpus.json and report.json. A quarantined record takes about 200 bytes in a report."""

HASH = "index_sha256"
"""Key in corpus.json for the SHA-256 of the index. The index in turn has a hash of each signal."""

ONTOLOGY = "ontology.json"
"""File in the corpus folder with the ontology (concepts, and mapping of codes) that produced the labels."""

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("root", pa.string()),  # name of the given source folder
        ("path", pa.string()),  # path of the header below the root
        ("shard", pa.int32()),
        ("row", pa.int32()),
        ("fs", pa.float64()),  # as recorded
        ("length", pa.int64()),  # as recorded, samples per lead
        ("start", pa.float64()),  # start of the window in the recording, in seconds
        ("n_valid", pa.int32()),  # samples of the window before the zero-padding
        ("codes", pa.list_(pa.string())),
        ("leaves", pa.list_(pa.int32())),  # the active leaf concepts
        ("primary", pa.int32()),  # leaf at the centre of the soft target; −1 without a leaf
        ("rpeaks", pa.list_(pa.int32())),  # samples of the window
        ("age", pa.float64()),
        ("sex", pa.string()),
        ("patient", pa.string()),
        ("acquired", pa.string()),  # ISO 8601, local time, from the file or the dataset's table
        ("device", pa.string()),  # the electrocardiograph, from the same sources
        ("statements", pa.list_(pa.string())),  # of the device, or of the dataset's report
        *((f"machine_{name}", pa.float64()) for name in MEASURED),  # measured by the device
        ("amplitude_mv", pa.float32()),  # this and the next four: quality of the worst lead (quality.py)
        ("zero_fraction", pa.float32()),
        ("clipped_fraction", pa.float32()),
        ("range_mv", pa.float32()),
        ("montage", pa.float32()),
        ("signal_hash", pa.string()),  # of the int16 window
        ("hidden", pa.list_(pa.string())),  # damaged leads, which are zero in the window
        ("notes", pa.list_(pa.string())),
    ]
)

LEAST = {"primary": -1} | dict.fromkeys(("shard", "row", "n_valid", "leaves", "rpeaks", "fs", "length"), 0)
"""Minimum values of numeric columns. These columns must not have nulls."""


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """Convert rows to an Arrow table with the schema of the index."""
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def write(rows: pa.Table, path: Path) -> None:
    """Write an index table. Equal tables give equal files.

    Args:
        rows: Table from `table`.
        path: Temporary path from `with replacing(file, private=True)`, which then becomes the file.
    """
    pq.write_table(
        rows.combine_chunks(), path, compression="zstd", row_group_size=1 << 16, write_page_checksum=True
    )


def read(path: Path, columns: list[str] | None = None, sha256: str | None = None, **most: int) -> pa.Table:
    """Read an index file.

    Args:
        path: Path of the file.
        columns: Columns to read. All columns if None.
        sha256: Expected hash of the file. Not checked if None.
        **most: Maximum values of columns, by name. A file with a larger value counts as damaged.

    Raises:
        CorpusError: If the file is missing or damaged, or has another hash.
    """
    refuse_pipe(path, AGAIN, CorpusError)
    if sha256 is not None and path.exists() and file_sha256(path) != sha256:  # damage can abort PyArrow
        raise CorpusError("is damaged (its SHA-256 doesn't match corpus.json)", where=path, remedy=AGAIN)
    tables = parquet_batches(path, columns, where=path, remedy=AGAIN, error=CorpusError)
    try:
        rows = _as_stated(pa.concat_tables(tables))
    except pa.ArrowException as error:
        raise CorpusError(f"can't be read ({error})", where=path, remedy=AGAIN) from error
    for name in LEAST.keys() & {*rows.column_names}:
        if rows[name].null_count:
            raise CorpusError(f"is damaged (a row has no {name})", where=path, remedy=AGAIN)
        for chunk in rows[name].chunks:
            x = (chunk.flatten() if pa.types.is_list(chunk.type) else chunk).to_numpy(zero_copy_only=False)
            refuse_impossible(x, name, path, AGAIN, CorpusError, least=LEAST[name], most=most.get(name, inf))
    return rows


def _as_stated(rows: pa.Table) -> pa.Table:
    """Cast columns to the float types of the schema, because another program may have written other types."""
    for number, field in enumerate(rows.schema):
        stated = SCHEMA.field(field.name).type if field.name in SCHEMA.names else field.type
        if stated != field.type and pa.types.is_floating(stated):
            rows = rows.set_column(number, field.name, rows[field.name].cast(stated))
    return rows


def complete(folder: Path, settings: Mapping[str, Any], rows: pa.Table) -> None:
    """Write the index, then `corpus.json` with the index's hash. A corpus with `corpus.json` is complete."""
    with replacing(folder / FILE, private=True) as temporary:
        write(rows, temporary)
        hashed = {HASH: file_sha256(temporary)}
    write_json({**settings, **hashed}, folder / ABOUT)


def write_json(value: Any, path: Path) -> None:
    """Write a JSON file atomically. Other users can't read it, because it may contain record names.

    Raises `OutputError` if the file can't be written.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n", private=True)


def read_json(path: Path) -> Any:
    """Read a JSON file of a corpus. Raises `CorpusError` if it is missing or damaged."""
    return documents.read_json(path, AGAIN, CorpusError, MOST_JSON_BYTES)


def names(rows: pa.Table) -> list[str]:
    """Return the names of records for reports: name of the source folder, `/`, and the path in it."""
    columns = (rows[name].to_pylist() for name in ("root", "path"))
    return [f"{root}/{path}" for root, path in zip(*columns, strict=True)]


def of(folder: str | Path, columns: list[str] | None = None) -> pa.Table:
    """Read the index of a corpus, or selected columns. Raises as `read` does."""
    return read(Path(folder) / FILE, columns)


def schema(folder: str | Path) -> pa.Schema:
    """Return the schema of a corpus' index. Raises as `read` does."""
    of(folder, ["id"])
    return pq.read_schema(Path(folder) / FILE)
