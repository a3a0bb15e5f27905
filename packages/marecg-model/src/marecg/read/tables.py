"""The tables of labels that datasets bring with them, as far as a folder has to be recognised by them."""

from pathlib import Path

from marecg.read.record import is_regular

HEAD = 10_000
"""Characters that the first line of a table has at most."""


def columns(table: Path) -> set[str]:
    """The names in the first line of a table; none where it can't be read, or isn't a regular file."""
    if not is_regular(table):
        return set()
    try:
        with table.open(encoding="utf-8-sig", errors="replace") as file:
            return {name.strip().strip('"') for name in file.readline(HEAD).split(",")}
    except OSError:
        return set()
