"""Files appear whole or not at all: written under a temporary name beside the target, then renamed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ecg_ontology.errors import OutputError


@contextmanager
def replacing(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `target` (a file or a folder) when the block succeeds.

    When the block fails, `target` is as it was and the temporary path is gone.

    Raises:
        OutputError: the disk is full, or the place can't be written.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with replacing(folder / "greeting.txt") as temporary:
        ...     _ = temporary.write_text("hello")
        >>> [path.name for path in folder.iterdir()]
        ['greeting.txt']
    """
    target = Path(target)
    temporary = target.with_name(f".{target.stem}-{os.urandom(4).hex()}{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if temporary.is_dir() and target.is_dir():
            shutil.rmtree(target)
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"cannot be written ({os.strerror(error.errno) if error.errno else error})",
            where=target,
            remedy="Check that the folder is writable and the disk has room",
        ) from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            with suppress(OSError):  # gone already, or never there: the error above is the one to report
                temporary.unlink()
