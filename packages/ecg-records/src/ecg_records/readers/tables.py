"""Read the CSV tables of data sets."""

import csv
from collections.abc import Iterator
from pathlib import Path

from ecg_records.errors import CorpusError
from ecg_records.record import is_regular

HEAD = 10_000
"""Number of characters of a table's first line to read."""


def columns(table: Path) -> set[str]:
    """Return the column names of a table. The result is empty if the file can't be read."""
    if not is_regular(table):
        return set()
    try:
        with table.open(encoding="utf-8-sig", errors="replace") as file:
            return {name.strip().strip('"') for name in file.readline(HEAD).split(",")}
    except OSError:
        return set()


def rows(table: Path, *needed: str) -> Iterator[dict[str, str]]:
    """Yield each row of a table as a dict by column.

    Raises `CorpusError` if the table can't be read or lacks one of the `needed` columns.
    """
    remedy = (
        f"Download it again from its publisher. It must have the columns {', '.join(filter(None, needed))}"
    )
    try:
        if not is_regular(table):
            raise OSError("no such file")
        with table.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            reader = csv.DictReader(file)
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise CorpusError(f"has no column {missing[0]!r}", where=table, remedy=remedy)
            yield from reader
    except (OSError, csv.Error) as error:
        raise CorpusError(f"can't be read ({error})", where=table, remedy=remedy) from error
