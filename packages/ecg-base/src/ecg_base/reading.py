"""Bounded reading of whole files, with single-line errors."""

import hashlib
import os
from pathlib import Path

from ecg_base.errors import InputError

MOST_BYTES = 1 << 26
"""Largest size of a small file in bytes, such as our JSON files. The packaged bundle has 120 thousand."""


def refuse_pipe(
    path: Path,
    remedy: str = "Remove it, or name a file",
    error: type[InputError] = InputError,
    most: int | None = None,
) -> None:
    """Check that a path is a file or doesn't exist, because reading a pipe would block.

    Args:
        path: path to read.
        remedy: remedy of the error.
        error: class of the error.
        most: largest size in bytes.

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
        raise error(f"has more than {most >> 20} MB", where=path, remedy=remedy)


def read_bounded(
    path: Path,
    remedy: str = "Remove it, or name a file",
    error: type[InputError] = InputError,
    most: int = MOST_BYTES,
) -> bytes:
    """Return the bytes of a whole file.

    Args:
        path: file to read.
        remedy: remedy of the error.
        error: class of the error.
        most: largest size in bytes.

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


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raise `OSError` if the file can't be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
