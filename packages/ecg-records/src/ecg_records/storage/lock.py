"""Folder locks: one process at a time works in a folder; a killed process frees its lock."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ecg_base import OutputError, refuse_address
from ecg_records.errors import CorpusError

logger = logging.getLogger(__name__)
LOCK = ".lock"
"""The file's name in the folder."""
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def locked(folder: Path, doing: str | None = None) -> Iterator[None]:
    """Create a folder if necessary, and lock it against a second process.

    Where nothing can be written, or the file system has no locks, as Lustre and NFS may be mounted, nobody is
    kept out. `doing` is what is being done to it, as the error says it; None waits for the other process.
    Raises `CorpusError` where another process holds it; `OutputError` where it can't be made; `UsageError`
    where it is an address.
    """
    refuse_address(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Choose a folder that is writable for --out"
        raise OutputError(f"cannot be written ({error.strerror})", where=folder, remedy=remedy) from error
    lock = FileLock(folder / LOCK, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(blocking=doing is None)
    except Timeout as error:
        remedy = "Wait for it, or choose another folder for --out"
        raise CorpusError(f"is being {doing} by another process", where=folder, remedy=remedy) from error
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        if getattr(error, "errno", None) not in _READ_ONLY:
            logger.warning("%s can't be locked (%s): let no second process write there", folder, reason)
    try:
        yield
    finally:
        if lock.is_locked:
            (folder / LOCK).unlink(missing_ok=True)  # who waits for it sees that, and makes another
            lock.release()
