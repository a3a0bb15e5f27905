"""Read files with a limit on size and memory, and report errors in a single line."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from ecg_base.errors import InputError

MOST_BYTES = 1 << 26
"""Default limit of `read_bounded`, 64 MB. The largest JSON file of these packages has about 120 kB."""
EXPANSION, EXPANDED_BYTES = 200, 1 << 28
"""Packed content may unpack to 200 times its packed size, or to 256 MB if 256 MB is more."""
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12, "BYTE_ARRAY": 4}
"""Bytes per value in memory, by Parquet's physical type. Strings are read as 4-byte indices of a
dictionary."""


def refuse_pipe(
    path: Path,
    remedy: str = "Remove it, or give another file",
    error: type[InputError] = InputError,
    most: int | None = None,
) -> None:
    """Check that a path is a regular file or doesn't exist, because reading a pipe would block.

    Args:
        path: path to read.
        remedy: what the error advises the user to do.
        error: class of the error to raise.
        most: largest allowed size in bytes, or `None` for any size.

    Raises:
        InputError: the path is a pipe, a device, a folder or a broken link, or the file is too large.

    Example:
        >>> refuse_pipe(Path("not-there.parquet"))
    """
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise error("isn't a file", where=path, remedy=remedy)
    if most is not None and path.stat().st_size > most:
        problem = f"must have at most {most >> 20} MB, got {ceil(path.stat().st_size / 2**20):,} MB"
        raise error(problem, where=path, remedy=remedy)


def read_bounded(
    path: Path,
    remedy: str = "Remove it, or give another file",
    error: type[InputError] = InputError,
    most: int = MOST_BYTES,
) -> bytes:
    """Return the content of a file, unless the file is too large.

    Args:
        path: file to read.
        remedy: what the error advises the user to do.
        error: class of the error to raise.
        most: largest allowed size in bytes, by default 64 MB.

    Raises:
        InputError: the file is missing, isn't a regular file, is too large, or can't be read.

    Example:
        >>> import tempfile
        >>> read_bounded(Path(tempfile.mkstemp()[1]))
        b''
    """
    refuse_pipe(path, remedy, error, most)
    try:
        return path.read_bytes()
    except FileNotFoundError as cause:
        raise error("is missing", where=path, remedy=remedy) from cause
    except OSError as cause:
        raise error(f"can't be read ({cause.strerror})", where=path, remedy=remedy) from cause


def _refuse_bomb(
    unpacked: int, packed: int, where: object, remedy: str, error: type[InputError] = InputError
) -> None:
    """Raise `error` if compressed content would take too much memory: more than `EXPANSION` times its size.

    Sizes up to `EXPANDED_BYTES` are always allowed.
    """
    most = max(EXPANSION * packed, EXPANDED_BYTES)
    if unpacked > most:
        problem = f"must unpack to at most {most >> 20:,} MB, got {unpacked >> 20:,} MB from {packed:,} bytes"
        raise error(problem, where=where, remedy=remedy)


def refuse_zip_bomb(archive: ZipFile, where: object, remedy: str) -> None:
    """Raise `InputError` if a zip archive would unpack to more than 200 times its size.

    Archives that unpack to at most 256 MB are always allowed. The sizes come from the directory at the end of
    the archive, so nothing is unpacked. `where` is the name of the archive in the error.
    """
    members = archive.infolist()
    packed = sum(member.compress_size for member in members)
    _refuse_bomb(sum(member.file_size for member in members), packed, where, remedy)


def parquet_batches(
    file: Path | IO[bytes],
    columns: Sequence[str] | None = None,
    rows: int = 1 << 16,
    *,
    where: object,
    remedy: str,
    error: type[InputError] = InputError,
) -> Iterator[Any]:
    """Yield the rows of a Parquet file as Arrow tables, with bounded memory and verified page checksums.

    Parquet's dictionary encoding can expand a few bytes to gigabytes. So the memory for all numbers is
    computed and checked before reading. Strings are first read as indices of their dictionary. The size of
    the text is checked before the indices are replaced by strings.

    Args:
        file: path or open file.
        columns: columns to read, in order. All by default.
        rows: rows per table. The last table may have fewer.
        where: name of the file in errors.
        remedy: what the error advises the user to do.
        error: class of the error to raise.

    Raises:
        InputError: the file can't be read, lacks a column, or would take too much memory.
    """
    import pyarrow as pa  # noqa: PLC0415 (only readers of Parquet need it)
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    def text_bytes(column: Any) -> int:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary)
            return int(pc.sum(lengths.take(column.indices.drop_null())).as_py() or 0)
        if not pa.types.is_nested(column.type):
            return 0
        inner = column.flatten()
        return sum(map(text_bytes, inner)) if pa.types.is_struct(column.type) else text_bytes(inner)

    try:
        plain = pq.ParquetFile(file)
        schema, metadata = plain.schema_arrow, plain.metadata
        names = schema.names if columns is None else list(columns)
        if missing := [name for name in names if name not in schema.names]:
            raise error(f"has no column {missing[0]}", where=where, remedy=remedy)
        wanted = pa.schema(map(schema.field, names), schema.metadata)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        chunks = [group.column(index) for group in groups for index in range(group.num_columns)]
        packed = sum(chunk.total_compressed_size for chunk in chunks)
        lengths = {
            column.path: column.length for column in map(plain.schema.column, range(len(plain.schema)))
        }
        # Parquet joins the names of nested columns with dots, and a column's own name may contain dots.
        paths = {path for path in lengths if any(f"{path}.".startswith(f"{name}.") for name in names)}
        read = [chunk for chunk in chunks if chunk.path_in_schema in paths]
        size = sum(
            chunk.total_uncompressed_size
            + chunk.num_values * (_WIDTHS.get(chunk.physical_type) or lengths[chunk.path_in_schema])
            for chunk in read
        )
        _refuse_bomb(size, packed, where, remedy, error)
        texts = sorted({chunk.path_in_schema for chunk in read if chunk.physical_type == "BYTE_ARRAY"})
        packed_texts = pq.ParquetFile(file, read_dictionary=texts, page_checksum_verification=True)
        for batch in packed_texts.iter_batches(rows, columns=names):
            size += sum(map(text_bytes, batch.columns))
            _refuse_bomb(size, packed, where, remedy, error)
            yield pa.Table.from_batches([batch]).select(names).cast(wanted)
        if not metadata.num_rows:
            yield wanted.empty_table()
    except (OSError, ValueError, pa.ArrowException) as cause:
        if isinstance(cause, InputError):
            raise
        reason = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
        raise error(f"can't be read ({reason})", where=where, remedy=remedy) from cause


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raise `OSError` if the file can't be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
