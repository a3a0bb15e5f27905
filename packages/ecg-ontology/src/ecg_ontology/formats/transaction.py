"""Write either all files of a change to a folder, or none.

The new files are first written to a separate folder. Renaming this folder commits the change. If the process
is killed before the renaming, nothing has changed. If it is killed later, the next process that reads the
sources finishes the change.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ecg_base import OutputError, replacing, write_text

FILE_LOCK = ".ecgonto.lock"
PENDING = ".ecgonto.pending"
"""Folder of a committed but unfinished change. Its files replace the files of the same name next to the
folder."""


@contextmanager
def editing(sources: Path) -> Iterator[None]:
    """Lock a folder of sources against other processes, and finish the change of a killed process.

    Raises `OutputError` if the folder can't be written.
    """
    from filelock import FileLock

    try:
        with FileLock(sources / FILE_LOCK):
            finish(sources)
            yield
    except OSError as error:
        problem = f"cannot be edited ({error.strerror or error})"
        raise OutputError(problem, where=sources, remedy="Check that the folder is writable") from error


def write_all(sources: Path, files: Mapping[Path, str]) -> None:
    """Write the files in the folder `sources` all at once, and then the files elsewhere one by one.

    Raises `OutputError` if writing fails. If it fails before the commit, no file has changed.
    """
    inside = {path: text for path, text in files.items() if path.parent.resolve() == sources.resolve()}
    if inside:
        with replacing(sources / PENDING) as staged:
            staged.mkdir()
            for path, text in inside.items():
                (staged / path.name).write_text(text, encoding="utf-8")
        finish(sources)
    for path, text in files.items():
        if path not in inside:
            write_text(path, text)


def finish(sources: Path) -> None:
    """Move the files of a complete change into place. Raises `OutputError` if that fails."""
    pending = sources / PENDING
    if pending.is_symlink() or not pending.is_dir():
        return
    try:
        for staged in sorted(pending.iterdir()):
            with suppress(FileNotFoundError):  # another process may finish the change at the same time
                staged.replace(sources / staged.name)
        with suppress(FileNotFoundError):
            pending.rmdir()
    except OSError as error:
        problem = f"contains an unfinished build ({error.strerror})"
        remedy = "Make the folder writable. Then any command on it finishes the build"
        raise OutputError(problem, where=sources, remedy=remedy) from error
