"""Lock a folder, so that only one process at a time works in it. The lock of a killed process is released."""

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
"""Name of the lock file in the folder."""
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def locked(folder: Path, doing: str | None = None) -> Iterator[None]:
    """Create a folder if necessary, and lock it so that a second process can't work in it.

    On read-only or lockless file systems (some NFS or Lustre mounts) no lock is taken.

    Args:
        folder: Folder to lock.
        doing: Activity for the error message, such as `written`. If None, the function doesn't raise an
            error, but waits until the other process releases the lock.

    Raises:
        CorpusError: If another process holds the lock and `doing` isn't None.
        OutputError: If the folder can't be created.
        UsageError: If the folder is a URL, such as `s3://bucket/corpus`.
    """
    refuse_address(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "Choose a writable folder"
        raise OutputError(f"cannot be written ({error.strerror})", where=folder, remedy=remedy) from error
    lock = FileLock(folder / LOCK, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(blocking=doing is None)
    except Timeout as error:
        remedy = "Wait until that process ends, or choose another folder"
        raise CorpusError(f"is being {doing} by another process", where=folder, remedy=remedy) from error
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        if getattr(error, "errno", None) not in _READ_ONLY:
            logger.warning(
                "%s can't be locked (%s): make sure that no other process writes there", folder, reason
            )
    try:
        yield
    finally:
        if lock.is_locked:
            # A waiting process notices the deletion and creates a new lock file.
            (folder / LOCK).unlink(missing_ok=True)
            lock.release()
