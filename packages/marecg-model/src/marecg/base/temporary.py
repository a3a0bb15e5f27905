"""Create temporary folders, and remove the folders that killed processes left."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from marecg.errors import OutputError

PREFIX = "marecg-"
NEW_S = 60
"""Age in seconds below which an unlocked folder may still be in use."""


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Create a temporary folder, and remove it at the end of the `with` block.

    The folder is locked while it is in use. Abandoned folders of killed processes are removed first. Raises
    `OutputError` if no folder can be created.
    """
    _remove_left_over(parent := Path(tempfile.gettempdir()))
    try:
        made = tempfile.TemporaryDirectory(prefix=PREFIX)
    except OSError as error:
        remedy = "Set TMPDIR to a folder that is writable and has room"
        raise OutputError(f"cannot be written ({error.strerror})", where=parent, remedy=remedy) from error
    with made as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder
        finally:
            os.close(handle)


def _remove_left_over(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < NEW_S:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # deleted meanwhile, or not a folder
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another process uses it
            continue
        finally:
            os.close(handle)
