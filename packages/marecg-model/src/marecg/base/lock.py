"""One process at a time in a folder: a lock file of filelock's, which goes when it is let go."""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)
LOCK = ".lock"
"""The file's name in the folder."""
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def locked(folder: Path, *, wait: bool) -> Iterator[None]:
    """Keep other processes out of a folder; a killed one lets go by itself.

    Where nothing can be written or the file system has no locks, as Lustre and NFS may be mounted, nobody
    is kept out.

    Args:
        folder: the folder.
        wait: whether to wait for another process.

    Raises:
        TimeoutError: another process is in it, and `wait` is false.
    """
    file = folder / LOCK
    lock = FileLock(file, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        raise
    except (OSError, NotImplementedError) as error:
        if getattr(error, "errno", None) not in _READ_ONLY:
            logger.warning("%s can't be locked (%s): let no second process write there", folder, error)
        yield
        return
    try:
        yield
    finally:
        file.unlink(missing_ok=True)  # whoever waits for it sees that, and makes another
        lock.release()
