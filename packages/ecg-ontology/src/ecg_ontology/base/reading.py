"""Read ontology sources as text."""

from pathlib import Path

from ecg_base import read_bounded
from ecg_ontology.base.errors import SourceError

MOST_BYTES = 1 << 28
"""Maximum size of a source in bytes, enough for a table of a million codes."""


def read_text(path: Path) -> str:
    """Return the text of a source. Raises `SourceError` if it isn't a readable UTF-8 file."""
    try:
        return read_bounded(path, error=SourceError, most=MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start})"
        raise SourceError(problem, where=path, remedy="Save it as UTF-8") from error
