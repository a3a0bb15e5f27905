"""Distinguish damaged records from records that are temporarily unreachable."""

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
"""Error numbers whose cause is a disk, a mount or a permission, and not the content of the file."""


@contextmanager
def blamed(root: Path, file: Path) -> Iterator[None]:
    """Replace an error of the `with` block, which reads a record, if the record itself may be good.

    The error is replaced if the folder of records is gone, or if the file system can't reach the file.

    Raises:
        SourceGoneError: If the folder `root` is gone, or empty like a mount point.
        RecordError: With the reason `unavailable` if the file is gone or unreachable. Other errors are
            unchanged.
    """
    try:
        yield
    except (RecordError, OSError) as error:
        refuse_gone(root, error)
        vague = not isinstance(error, RecordError) or error.reason == Reason.unreadable
        cause = _system_error(error) or (_unreachable(file) if vague else None)
        if cause is None:
            raise
        problem = f"is currently unavailable ({os.strerror(cause.errno or 0)})"
        remedy = "Run the same command again later"
        where = getattr(error, "where", "") or file
        raise RecordError(Reason.unavailable, problem, where=where, remedy=remedy) from error


def refuse_gone(root: Path, error: BaseException | None = None) -> None:
    """Raise `SourceGoneError` if a folder of records is gone or an empty mount point.

    If `error` is given, it becomes the cause of the `SourceGoneError`.
    """
    if _is_gone(root):
        problem = "was removed or unmounted while its records were read"
        remedy = "Restore it, and run the same command to continue"
        raise SourceGoneError(problem, where=root, remedy=remedy) from error


def is_passing(error: OSError) -> bool:
    """Return whether a system error is temporary, or means that the file is gone."""
    return error.errno in {*PASSING, errno.ENOENT}


def _system_error(error: BaseException) -> OSError | None:
    """Return the temporary system error that caused `error`, or None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in PASSING:
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def _unreachable(file: Path) -> OSError | None:
    """Return the error of a look-up of the file, or None if the file or a dangling link exists."""
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
