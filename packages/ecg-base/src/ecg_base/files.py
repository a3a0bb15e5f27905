"""Write files and folders atomically: completely or not at all."""

import fcntl
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from ecg_base.errors import OutputError, UsageError

_UNFINISHED = ".unfinished"
"""Suffix of the hidden folders that hold unfinished files."""
_LOCK, _OLD = ".lock", ".old"
"""Names in the hidden folder: a file that stays locked while its process runs, and the folder to be
replaced."""
_NEW_S = 60
"""Seconds for which a hidden folder without a lock file counts as in use. Another process may be creating or
removing it."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(:[^/]*)?/[^/]")
"""Pattern of an address such as s3://bucket/folder, from which `Path` removes a slash."""


@contextmanager
def replacing(target: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path that becomes `target` (a file or a folder) when the block succeeds.

    The temporary path has the name of `target` and lies in a hidden folder next to `target`. Only its owner
    can open this folder. If the block fails, `target` is unchanged and the hidden folder is removed. After a
    power cut, `target` is either the old or the new version, because data is synced to disk before the
    rename. Replacing a folder takes two renames. If the process is killed between the renames,
    `remove_left_over` restores the old folder.

    Args:
        target: the file or folder to write.
        private: allow only the owner and the group to read `target`.

    Raises:
        OutputError: the disk is full, or `target` can't be written or is a device or a pipe.
        UsageError: `target` is an address, such as s3://bucket/folder.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with replacing(folder / "greeting.txt") as temporary:
        ...     _ = temporary.write_text("hello")
        >>> [path.name for path in folder.iterdir()]
        ['greeting.txt']
    """
    target = Path(target)
    if not target.name:
        raise OutputError(
            "must end in a file or folder name", where=target, remedy="For example out/ecg.json"
        )
    refuse_address(target)
    hidden = ""
    try:
        if _is_device(target):
            raise OutputError("is a device or a pipe", where=target, remedy="Give the path of a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        _tidy_once(target.parent)
        with _hidden_folder(target) as folder:
            hidden, temporary = str(folder), folder / target.name
            yield temporary
            _to_disk(temporary, private)
            if temporary.is_dir() and target.is_dir():
                _replace_folder(target, temporary)
            else:
                temporary.replace(target)
            _sync(target.parent)
    except OutputError as error:  # report the name of the target, not of the temporary file
        if hidden and error.where.startswith(hidden):
            raise OutputError(error.problem, where=target, remedy=error.remedy) from error
        raise
    except OSError as error:
        problem = f"cannot be written ({os.strerror(error.errno) if error.errno else error})"
        remedy = "Check that the folder is writable and the disk has room"
        raise OutputError(problem, where=target, remedy=remedy) from error


def write_text(target: str | Path, text: str, *, private: bool = False) -> None:
    """Write a UTF-8 file completely or not at all. Raise `OutputError` if it can't be written.

    Args:
        target: the file.
        text: content of the file.
        private: allow only the owner and the group to read the file.

    Example:
        >>> import tempfile
        >>> write_text(file := Path(tempfile.mkdtemp()) / "codes.txt", "AF")
        >>> file.read_text()
        'AF'
    """
    with replacing(target, private=private) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove_left_over(folder: Path, *, alone: bool = False) -> None:
    """Remove the unfinished files that killed processes left in a folder.

    Args:
        folder: folder in which `replacing` wrote.
        alone: also remove files that other processes or machines may be writing. The caller must make sure
            that nobody else writes to the folder.

    Example:
        >>> import tempfile
        >>> remove_left_over(Path(tempfile.mkdtemp()))
    """
    for hidden in folder.glob(f".*{_UNFINISHED}"):
        with suppress(OSError):  # another process may be removing it
            if hidden.lstat().st_uid == os.getuid() and (alone or not _may_be_in_use(hidden)):
                _put_back(hidden)
                shutil.rmtree(hidden, ignore_errors=True)


def _may_be_in_use(hidden: Path) -> bool:
    """Return whether a process may still be writing to the hidden folder.

    In a cluster, locks on a shared disk may be invisible to other machines. So a hidden folder that another
    machine created always counts as in use.
    """
    try:
        with (hidden / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock.read() != platform.node()
    except FileNotFoundError:
        return time.time() - hidden.stat().st_mtime < _NEW_S
    except OSError:
        return True


_tidy_once = cache(remove_left_over)
"""Run `remove_left_over` once per folder and process."""


@contextmanager
def _hidden_folder(target: Path) -> Iterator[Path]:
    """Create a locked hidden folder next to `target`, and remove it at the end."""
    hidden = Path(tempfile.mkdtemp(_UNFINISHED, f".{target.stem[:50]}-", target.parent))
    try:
        with (hidden / f"{_LOCK}~").open("w") as lock:
            lock.write(platform.node())
            lock.flush()
            with suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            Path(lock.name).rename(hidden / _LOCK)  # the file gets its final name after it is locked
            yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _replace_folder(target: Path, by: Path) -> None:
    if target.is_symlink():
        raise OutputError("is a link to a folder", where=target, remedy="Give the path of the folder itself")
    try:
        target.replace(by.parent / _OLD)
        by.replace(target)
    finally:  # an error or a signal may have interrupted the two renames
        _put_back(by.parent)


def _put_back(hidden: Path) -> None:
    """Move the old folder back to its place if the process stopped between the two renames of `replacing`."""
    for new in hidden.iterdir():
        target = hidden.parent / new.name
        if new.name not in (_LOCK, _OLD) and (hidden / _OLD).exists() and not target.exists():
            (hidden / _OLD).replace(target)


def _is_device(path: Path) -> bool:
    """Return whether a path is neither a file nor a folder. /dev/stdout always counts as a device."""
    if path.is_symlink() and path.readlink().is_relative_to("/proc"):
        return True
    return path.exists() and not (path.is_file() or path.is_dir())


def _to_disk(path: Path, private: bool) -> None:
    """Sync a file or folder to disk. If `private`, remove access for users outside owner and group."""
    if path.is_symlink() or not path.exists():
        return
    if path.is_dir():
        for inner in path.iterdir():
            _to_disk(inner, private)
    if private:
        path.chmod(path.stat().st_mode & 0o7770)
    _sync(path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some file systems can't sync a folder
            raise
    finally:
        os.close(handle)


def refuse_others(out: Path, ours: Callable[[str], object], mark: str = "") -> None:
    """Check that a folder can be replaced: it is new, empty, or holds only files of this program.

    Args:
        out: the folder.
        ours: function that returns whether this program writes a file with the given name.
        mark: name of a file that shows that this program wrote the folder. If the folder lacks this file, all
            files count as foreign, because other programs may use the same names. "" requires no such file.

    Raises:
        UsageError: `out` is a file, or holds foreign files, which would be lost.
        OutputError: `out` can't be listed.

    Example:
        >>> import tempfile
        >>> refuse_others(Path(tempfile.mkdtemp()), {"nodes.csv"}.__contains__)
    """
    try:
        names = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    except OSError as error:
        raise OutputError(f"cannot be listed ({error.strerror})", where=out) from error
    foreign = [name for name in names if not ours(name)] if mark in ("", *names) else names
    if foreign or out.is_file():
        problem = f"holds {foreign[0]}, which would be lost" if foreign else "must be a folder, got a file"
        raise UsageError(problem, where=out, remedy="Choose a new folder")


def refuse_unmarked(out: Path, mark: bytes) -> None:
    """Raise `UsageError` if `out` exists and lacks `mark`, the bytes that show that this program wrote it."""
    if out.exists() and not (out.is_file() and mark in out.read_bytes()):
        problem = "was not written by this program and would be lost"
        raise UsageError(problem, where=out, remedy="Choose a new file, or remove this file first")


def refuse_address(
    path: str | Path,
    problem: str = "must be a local path, got an address",
    remedy: str = "Give a file or folder on this machine",
) -> None:
    """Check that a path isn't an address, because writing to it would create folders such as "s3:".

    Args:
        path: path to write or read.
        problem: what the error states.
        remedy: what the error advises the user to do.

    Raises:
        UsageError: the path starts like an address, such as ``s3://``, and its first part isn't an existing
            folder.

    Example:
        >>> refuse_address(Path("graphs/graph.ttl"))
    """
    if _ADDRESS.match(str(path)) and not Path(Path(path).parts[0]).exists():
        address = str(path).replace(":/", "://") if isinstance(path, Path) else path  # `Path` makes // into /
        raise UsageError(problem, where=address, remedy=remedy)
