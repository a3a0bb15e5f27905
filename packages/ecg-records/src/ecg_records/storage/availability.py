"""Availability of files: damaged records are distinguished from temporarily unreachable ones."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ecg_records.errors import Reason, RecordError, SourceGoneError

PASSING = frozenset(
    {
        errno.EACCES,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.EIO,
        errno.ENODEV,
        errno.ENOTCONN,
        errno.ENXIO,
        errno.EPERM,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)
"""Error numbers that speak of a disk, a mount or a permission, and not of the file's content."""


@contextmanager
def blamed(root: Path, file: Path) -> Iterator[None]:
    """Replace a reading error by one that names its cause, if folder or file system are the cause.

    Raises:
        SourceGoneError: the folder `root` is gone, or empty as a mount point is.
        RecordError: with the reason `unavailable` where the file is gone or can't be reached; else as raised.
    """
    try:
        yield
    except (RecordError, OSError) as error:
        refuse_gone(root, error)
        vague = not isinstance(error, RecordError) or error.reason == Reason.unreadable
        cause = _system_error(error) or (_unreachable(file) if vague else None)
        if cause is None:
            raise
        problem = f"can't be reached at the moment ({os.strerror(cause.errno or 0)})"
        remedy = "The same command tries it again"
        where = getattr(error, "where", "") or file
        raise RecordError(Reason.unavailable, problem, where=where, remedy=remedy) from error


def refuse_gone(root: Path, error: BaseException | None = None) -> None:
    """Check that a folder of records isn't gone or an empty mount point. Raises `SourceGoneError`."""
    if _is_gone(root):
        problem = "is gone, or was unmounted, while its records were read"
        remedy = "Bring it back and run the same command: it goes on"
        raise SourceGoneError(problem, where=root, remedy=remedy) from error


def is_passing(error: OSError) -> bool:
    """Whether a system error is temporary, or means that the file is gone."""
    return error.errno in {*PASSING, errno.ENOENT}


def refuse_unreachable(file: Path) -> None:
    """Check that the file system isn't temporarily unable to read a file. Raises `OSError`."""
    error = _unreachable(file)
    if error is not None and error.errno in PASSING:
        raise error


def _system_error(error: BaseException) -> OSError | None:
    """Find the passing error of the system that led to `error`."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in PASSING:
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def _unreachable(file: Path) -> OSError | None:
    """Return the error for which a file can't be found, not even as a dangling link; None if it exists."""
    try:
        file.lstat()
    except OSError as error:
        return error if error.errno in {*PASSING, errno.ENOENT, errno.ENOTDIR} else None
    except ValueError:  # a name with a null byte
        return None
    return None


def _is_gone(root: Path) -> bool:
    try:
        if not root.is_dir():
            return not root.exists()
        with os.scandir(root) as entries:
            return next(entries, None) is None
    except OSError:
        return True
