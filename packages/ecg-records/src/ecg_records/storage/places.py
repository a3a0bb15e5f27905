"""Read and write folders on this machine or at fsspec addresses (`s3://`, `gs://`, …).

A file appears completely or not at all, because it is renamed or uploaded only after it is complete.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from ecg_base import InputError, OutputError, UsageError, replacing

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::|://)")


def is_remote(where: str | Path) -> bool:
    """Return whether a string is an fsspec address. Other strings are local paths.

    Example:
        >>> is_remote("s3://archive/embeddings"), is_remote("/data/embeddings"), is_remote("C3")
        (True, False, False)
    """
    return isinstance(where, str) and _URL.match(where) is not None


class Place:
    """Folder on this machine or at an address. Raises the errors of `filesystem`.

    Args:
        where: path or fsspec address of the folder.
    """

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        self.path = None if is_remote(where) else Path(where)
        if self.path is None:
            self._fs, self._root = filesystem(self.where)

    def __str__(self) -> str:
        return self.where

    def file(self, name: str) -> str:
        """Return the path of a file in the folder, for messages."""
        return str(self.path / name) if self.path else f"{self.where.rstrip('/')}/{name}"

    def names(self, pattern: str = "*") -> list[str]:
        """Return the sorted names of files that match a pattern, or [] if the folder doesn't exist.

        Raises `InputError` if the folder can't be listed.
        """
        try:
            if self.path:
                names = [path.name for path in self.path.iterdir()] if self.path.exists() else []
            else:
                self._fs.invalidate_cache(self._root)
                paths = self._fs.ls(self._root, detail=False) if self._fs.exists(self._root) else []
                names = [path.rstrip("/").rpartition("/")[2] for path in paths]
        except Exception as error:  # each store raises its own errors
            problem, remedy = reasoned(error)
            if self.path and isinstance(error, OSError):
                problem, remedy = str(error.strerror), "Give a folder that you have permission to list"
            raise InputError(f"can't be listed: {problem}", where=self, remedy=remedy) from error
        return sorted(name for name in names if fnmatch(name, pattern))

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading. Raises `OSError` if it is missing."""
        if self.path is None:
            try:
                file: IO[bytes] = self._fs.open(f"{self._root}/{name}")
            except OSError:
                raise
            except Exception as error:  # each store raises its own errors
                raise OSError(reasoned(error)[0]) from error
            return file
        path = self.path / name
        if path.exists() and not path.is_file():
            raise OSError("isn't a file")  # opening a pipe would block
        return path.open("rb")

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a temporary path that becomes the file when the block succeeds. Raises `OutputError`.

        Only the owner and the group may read a local file, because it contains patient data.
        """
        if self.path:
            with replacing(self.path / name, private=True) as temporary:
                yield temporary
            return
        with TemporaryDirectory() as folder:
            temporary = Path(folder) / name
            try:
                yield temporary
            except OSError as error:
                remedy = "Free disk space, or set TMPDIR to a folder on another disk"
                raise OutputError(f"cannot be written ({error})", where=temporary, remedy=remedy) from error
            with sending(self.file(name)):
                self._fs.makedirs(self._root, exist_ok=True)
                self._fs.put_file(str(temporary), f"{self._root}/{name}")


def filesystem(where: str) -> tuple[Any, str]:
    """Return the fsspec file system of an address, and the path in it.

    Raises:
        UsageError: If fsspec doesn't know the protocol, or a library is missing.
    """
    from fsspec.core import url_to_fs  # noqa: PLC0415 (most folders are local)

    try:
        fs, root = url_to_fs(where)
    except ImportError as error:
        remedy = "Run pip install 'ecg-records[remote]', or install the missing library"
        raise UsageError(f"needs a library ({_first_line(error)})", where=where, remedy=remedy) from error
    except Exception as error:  # each protocol raises its own errors
        remedy = "Give a path, or an address that fsspec supports, such as s3://bucket/folder"
        raise UsageError(f"isn't an address ({_first_line(error)})", where=where, remedy=remedy) from error
    return fs, str(root).rstrip("/")


_UNKNOWN_USER = ("Credential", "Forbidden", "AccessDenied", "RefreshError", "AccessKey", "SignatureDoesNot")
"""Parts of the class names of errors that stores raise for unknown users or missing permissions."""


def reasoned(error: Exception) -> tuple[str, str]:
    """Return the problem and the remedy for an error from the library of an object store.

    Example:
        >>> reasoned(PermissionError("Forbidden"))[0]
        'access is denied (Forbidden)'
    """
    line = _first_line(error)
    if isinstance(error, FileNotFoundError):
        return f"doesn't exist ({line})", "Check the names of bucket and folder"
    if isinstance(error, PermissionError) or any(word in type(error).__name__ for word in _UNKNOWN_USER):
        return (
            f"access is denied ({line})",
            "Check the credentials, such as AWS_PROFILE, and their permissions",
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return (
            f"the disk is too full for a copy ({line})",
            "Free disk space, or set ECG_RECORDS_CACHE to a folder on another disk",
        )
    return (
        f"can't be reached ({line})",
        "Check the address, the network and the service, and run the same command again",
    )


@contextmanager
def reading(where: str | Path) -> Iterator[None]:
    """Replace any error of the `with` block, which reads the store `where`, by an `InputError`."""
    try:
        yield
    except Exception as error:  # each store raises its own errors
        problem, remedy = reasoned(error)
        raise InputError(problem, where=where, remedy=remedy) from error


@contextmanager
def sending(where: str, advice: str = "") -> Iterator[None]:
    """Replace any error of the `with` block, which writes to the store `where`, by an `OutputError`.

    `advice` is appended to the remedy.
    """
    try:
        yield
    except Exception as error:  # each store raises its own errors
        problem, remedy = reasoned(error)
        raise OutputError(f"cannot be written: {problem}", where=where, remedy=remedy + advice) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
