"""Bad surroundings of a command: what befalls the process that runs it, or the files that it reads.

Each is set up within the process. What befalls files waits for Python to open one of them, so that a command
has listed or begun them; libraries that open files by themselves see what has happened since.
"""

import errno
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SMALL = 4096
"""Bytes that a file may have where the disk is full."""
UNWRITABLE = Path("/proc/1/nothing/out")
LISTED = {"open", "os.scandir", "os.listdir"}
"""Events of Python by which files are read."""


def full_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))


def tmpdir_elsewhere() -> None:
    os.environ["TMPDIR"], tempfile.tempdir = "/dev/shm", None  # noqa: S108 — another file system


def tmpdir_gone() -> None:
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp()
    Path(tempfile.tempdir).rmdir()


def no_home() -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)


def no_stdout() -> None:
    os.close(1)
    sys.stdout = None  # as Python begins where there is none


SURROUNDINGS: dict[str, Callable[[], object]] = {
    "full disk": full_disk,
    "TMPDIR on another file system": tmpdir_elsewhere,
    "TMPDIR gone": tmpdir_gone,
    "no HOME": no_home,
    "umask 077": lambda: os.umask(0o077),
    "stdout closed": no_stdout,
    "40 columns": lambda: os.environ.update(COLUMNS="40"),
    "a folder that can't be written": lambda: None,
}
MAY_FAIL = {"full disk", "TMPDIR gone", "stdout closed", "a folder that can't be written"}


def vanish(_: Path, source: Path) -> None:
    """Take a source away, as a network's folder that is no longer mounted."""
    source.rename(source.with_name(f"gone-{source.name}"))


def fail(path: Path, _: Path) -> None:
    """Fail as a disk does."""
    raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))


def replace(path: Path, _: Path, share: float = 1) -> None:
    """Put another file in a file's place, which has the first `share` of its bytes."""
    if path.is_file():
        content, other = path.read_bytes(), path.with_name(f"other-{path.name}")
        other.write_bytes(content[: round(share * len(content))])
        other.replace(path)


BEFALL: dict[str, Callable[[Path, Path], None]] = {
    "a source that vanishes": vanish,
    "a mount that says EIO": fail,
    "a file replaced by an equal one": replace,
    "a file replaced by half of it": lambda path, source: replace(path, source, 0.5),
}
LASTING = {"a mount that says EIO"}
"""What befalls every file from then on; the others happen once."""
DAMAGING = {"a file replaced by half of it"}
"""After which the result may differ, once the files are as they were."""


def befall(what: str, source: Path, number: int) -> None:
    """Let something befall a source when its file of this number, from 0 on, is opened."""
    opened, busy = 0, False

    def hear(event: str, args: tuple[object, ...]) -> None:
        nonlocal opened, busy
        if busy or event not in LISTED or not isinstance(args[0], str | os.PathLike):
            return
        path = Path(args[0])
        if not (path == source or source in path.parents or path.stem == source.stem):
            return
        opened += 1
        if opened == number + 1 or (opened > number and what in LASTING):
            busy = True
            try:
                BEFALL[what](path, source)
            finally:
                busy = False

    sys.addaudithook(hear)
