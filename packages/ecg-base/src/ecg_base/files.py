"""Files that are written whole or not at all."""

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from ecg_base.errors import OutputError, UsageError

_MARK = "(?P<pid>[0-9a-f]{6})(?P<machine>[0-9a-f]{6})[0-9a-f]{4}"
_TEMPORARY = re.compile(rf"\.(?:(?P<replaced>.+)-(?=\w+\.old~)|.+-){_MARK}(\.old~|(\.\w+)*)")
"""Temporary names used by `replacing`; a leftover one belongs to a process that died."""
_HERE, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux' renameat2."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(:[^/]*)?/[^/]")
"""What `Path` makes of an address such as s3://bucket/folder."""


@contextmanager
def replacing(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `target` (a file or a folder) when the block succeeds.

    When the block fails, `target` is as it was and the temporary path is gone. After a power cut it is the
    old one or the new one: what was written is on the disk before it gets its name.

    Args:
        target: the file or folder to be written.

    Raises:
        OutputError: the disk is full, or the place can't be written, or is a device or a pipe.
        UsageError: it is an address.

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
        raise OutputError("isn't a name", where=target, remedy="Name a new file or folder")
    refuse_address(target)
    temporary = target.with_name(f".{target.stem[:50]}-{_mark()}{target.suffix}")
    _remove_left_over(str(target.parent))
    try:
        if _is_device(target):
            raise OutputError("is a device or a pipe", where=target, remedy="Name a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _to_disk(temporary)
        if temporary.is_dir() and target.is_dir():
            _replace_folder(target, temporary)
        else:
            temporary.replace(target)
        _to_disk(target.parent, deep=False)
    except OutputError as error:  # of a file on its way: nobody knows it by that name
        if error.where.startswith(str(temporary)):
            raise OutputError(error.problem, where=target, remedy=error.remedy) from error
        raise
    except OSError as error:
        problem = f"cannot be written ({os.strerror(error.errno) if error.errno else error})"
        remedy = "Check that the folder is writable and the disk has room"
        raise OutputError(problem, where=target, remedy=remedy) from error
    finally:
        _remove(temporary)


def _mark() -> str:
    """What tells a temporary name from others, and whose it is."""
    return f"{os.getpid():06x}{_machine()}{os.urandom(2).hex()}"


@cache
def _machine() -> str:
    """Where process ids mean what they mean here: the machine and, within it, the container."""
    space = Path("/proc/self/ns/pid")
    name = f"{platform.node()} {space.readlink() if space.is_symlink() else ''}"
    return sha256(name.encode()).hexdigest()[:6]


@cache
def _remove_left_over(folder: str) -> None:
    """Remove, once per process, what processes that were killed while they wrote have left in a folder."""
    try:
        entries = [(entry.path, _TEMPORARY.fullmatch(entry.name)) for entry in os.scandir(folder)]
    except OSError:  # not there yet, or not to be listed
        return
    for path, mark in entries:
        if mark is None or mark["machine"] != _machine() or _is_alive(int(mark["pid"], 16)):
            continue
        target = Path(folder, mark["replaced"] or "")
        if mark["replaced"] and not target.exists():
            Path(path).rename(target)
        else:
            _remove(Path(path))


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there; what fails isn't what the user asked for."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 ends a process
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _is_device(path: Path) -> bool:
    """Whether a path is there and no file; /dev/stdout is none, wherever it leads."""
    if path.is_symlink() and path.readlink().is_relative_to("/proc"):
        return True
    return path.exists() and not (path.is_file() or path.is_dir())


def _to_disk(path: Path, *, deep: bool = True) -> None:
    """Wait until a file, or a folder with or without what is in it, is on the disk."""
    if path.is_symlink() or not path.exists():
        return
    if path.is_dir() and deep:
        for inner in path.iterdir():
            _to_disk(inner)
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some file systems don't know how to sync a folder
            raise
    finally:
        os.close(handle)


def _replace_folder(target: Path, by: Path) -> None:
    """Put `by` in the place of `target`, by one rename where the file system can exchange two folders.

    Elsewhere `target` has another name for a moment; what is killed in it, `_remove_left_over` puts right.
    """
    if target.is_symlink():
        raise OutputError("is a link to a folder", where=target, remedy="Name the folder itself")
    if _exchanged(target, by):
        return
    old = target.with_name(f".{target.name}-{_mark()}.old~")
    try:
        target.replace(old)
        by.replace(target)
    finally:  # what failed, or a signal, may have come between; as `by`, the old one is removed
        if old.exists():
            old.replace(by if target.exists() else target)


def _exchanged(one: Path, other: Path) -> bool:
    """Give two folders each other's names; False, and nothing done, where the system or its disk can't."""
    import ctypes  # noqa: PLC0415

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def write_text(target: str | Path, text: str) -> None:
    """Write a file in UTF-8, whole or not at all. Raises `OutputError` where it can't be written.

    Args:
        target: the file.
        text: its content.

    Example:
        >>> import tempfile
        >>> write_text(file := Path(tempfile.mkdtemp()) / "codes.txt", "AF")
        >>> file.read_text()
        'AF'
    """
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def refuse_others(out: Path, ours: Callable[[str], object], mark: str = "") -> None:
    """Check that a folder to be replaced is new, or holds only files named in `ours`.

    Args:
        out: the folder.
        ours: whether a file is called as those are that this program writes there.
        mark: a file without which none of them is; others may call theirs the same.

    Raises:
        UsageError: it is a file, or holds others, which would be lost.
        OutputError: it can't be listed.

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
        problem = f"holds {foreign[0]}, which would be lost" if foreign else "is a file"
        raise UsageError(problem, where=out, remedy="Name a new folder")


def refuse_unmarked(out: Path, mark: bytes) -> None:
    """Check that `out` is free, or a file with our mark. Raises `UsageError` otherwise."""
    if out.exists() and not (out.is_file() and mark in out.read_bytes()):
        problem = "was not written by this program, and would be lost"
        raise UsageError(problem, where=out, remedy="Name a new file, or remove that one first")


def refuse_address(
    path: str | Path,
    problem: str = "is an address, and a path is wanted",
    remedy: str = "Name a file or folder of this machine",
) -> None:
    """Check that a path isn't an address, which would make folders called s3: and so on.

    Args:
        path: what is to be written, or read.
        problem: what is wrong with an address there.
        remedy: what to do about it.

    Raises:
        UsageError: it begins as an address with one slash does, and no file or folder is called so.

    Example:
        >>> refuse_address(Path("graphs/graph.ttl"))
    """
    if _ADDRESS.match(str(path)) and not Path(Path(path).parts[0]).exists():
        given = str(path).replace(":/", "://") if isinstance(path, Path) else path  # it drops a slash
        raise UsageError(problem, where=given, remedy=remedy)
