"""Read users' tables row by row: ``.csv`` and ``.tsv`` (comma, semicolon or tab), ``.xlsx``, ``.parquet``."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ecg_base import InputError, optional, parquet_batches
from ecg_ontology.base.workbooks import read_workbook

_LONGEST = 1 << 20
"""Maximum number of characters in a header."""


def column_names(path: Path, *, quoted: bool = True) -> list[str]:
    """Return the column names, or [] for an empty file. See `lines` for `quoted`.

    Raises `InputError` if the file can't be read.
    """
    if path.suffix == ".parquet":
        return [str(name) for name in _parquet(path).schema_arrow.names]
    return next(lines(path, quoted=quoted), (1, list[str]()))[1]


def rows(path: Path, columns: list[str], *, quoted: bool = True) -> Iterator[tuple[str, list[Any]]]:
    """Yield the location of each row, such as ``line 3``, and its cells in the requested columns.

    Cells are text, except in Parquet. See `lines` for `quoted`. Raises `InputError` if the table can't be
    read, a requested column occurs twice, or a row has another number of cells than the header.
    """
    if path.suffix == ".parquet":
        for number, row in enumerate(_parquet_rows(path, columns), start=1):
            yield f"row {number}", [row[name] for name in columns]
        return
    numbered = lines(path, quoted=quoted)
    names = next(numbered)[1]
    if doubled := next((name for name in columns if names.count(name) > 1), ""):
        raise InputError(f"has two columns {doubled}", where=path, remedy="Remove or rename a column")
    indices = [names.index(name) for name in columns]
    for number, cells in numbered:
        if len(cells) != len(names):
            problem = f"must have {len(names)} cells like the header, got {len(cells)}"
            raise InputError(problem, where=f"{path}, line {number}")
        yield f"line {number}", [cells[index] for index in indices]


def lines(path: Path, *, strict: bool = False, quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row that isn't empty.

    Args:
        path: a delimited text file or a workbook.
        strict: raise `InputError` for a cell with a stray quote.
        quoted: whether quotes enclose cells. If False, quotes in a tab-separated file are ordinary
            characters, as in OMOP's tables.
    """
    _refuse_missing(path)
    if path.suffix.lower() == ".xlsx":
        yield from ((number, cells) for number, cells in read_workbook(path) if any(cells))
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline(_LONGEST)
            file.seek(0)
            separator = max("\t;,", key=head.count)  # depends on the locale of the spreadsheet program
            plain_quotes = not quoted and separator == "\t" and '"' not in head
            reader = csv.reader(
                file,
                delimiter=separator,
                strict=strict,
                quoting=csv.QUOTE_NONE if plain_quotes else csv.QUOTE_MINIMAL,
            )
            yield from ((reader.line_num, cells) for cells in reader if cells)
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8 (in Excel, as 'CSV UTF-8')"
        raise InputError("isn't UTF-8 text", where=path, remedy=remedy) from error
    except (OSError, csv.Error) as error:
        raise InputError(f"can't be read as a table ({error})", where=path) from error


def _refuse_missing(path: Path) -> None:
    if not path.is_file():
        raise InputError("isn't a file" if path.exists() else "doesn't exist", where=path)


def _parquet(path: Path) -> Any:
    parquet = optional("pyarrow.parquet", "reading .parquet needs pyarrow", "pip install pyarrow")
    from pyarrow import ArrowException

    _refuse_missing(path)
    try:
        return parquet.ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise _no_parquet(path, error) from error


def _parquet_rows(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    _parquet(path)
    remedy = "Write it again"
    for table in parquet_batches(path, sorted(set(columns)), 1 << 12, where=path, remedy=remedy):
        yield from table.to_pylist()


def _no_parquet(path: Path, error: Exception) -> InputError:
    return InputError(f"isn't a Parquet table ({' '.join(str(error).split())[:200]})", where=path)
