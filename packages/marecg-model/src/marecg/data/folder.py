"""The corpus folder: held by one preparation at a time, its JSON whole or absent."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ecg_ontology.files import replacing
from marecg.errors import CorpusError, OutputError


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, against a second preparation; a killed process lets go by itself.

    Raises:
        CorpusError: another process holds it.
        OutputError: it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise OutputError(
            problem, where=folder, remedy="Choose a folder that is writable for --out"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        problem = "is being prepared by another process"
        raise CorpusError(
            problem, where=folder, remedy="Wait for it, or choose another folder for --out"
        ) from error
    else:
        yield
    finally:
        os.close(handle)


def write_json(value: Any, path: Path) -> None:
    """Write JSON whole or not at all. Raises `OutputError`."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read JSON of ours. Raises `CorpusError`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problem = f"is damaged ({error})"
        raise CorpusError(problem, where=path, remedy="Remove the corpus and prepare it again") from error
