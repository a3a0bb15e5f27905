"""Read workbooks of spreadsheet programs as text (extra ``xlsx``)."""

import datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from ecg_base import InputError, optional

_MOST_BYTES = 1 << 24
"""Maximum unpacked size of a workbook in bytes, enough for about a hundred thousand short rows."""


def openpyxl() -> Any:
    """Import the module that reads workbooks. Raises `UsageError` if it isn't installed."""
    return optional("openpyxl", "a workbook needs openpyxl", 'pip install "ecg-ontology[xlsx]", or use .tsv')


def read_workbook(path: Path) -> list[tuple[int, list[str]]]:
    """Return the number and the cells of each row in the first sheet.

    Raises `InputError` if the workbook can't be read.
    """
    module = openpyxl()
    try:
        with path.open("rb") as file, ZipFile(file) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > _MOST_BYTES:
                problem = f"must unpack to at most {_MOST_BYTES >> 20} MB, got {unpacked >> 20:,} MB"
                raise InputError(problem, where=path, remedy="Keep only the rows that you filled in")
            sheet = module.load_workbook(file, read_only=True).worksheets[0]
            rows = [[_text(cell, path) for cell in row] for row in sheet.iter_rows()]
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=path) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError(f"isn't a workbook ({reason[:200]})", where=path) from error
    width = len(rows[0]) if rows else 0
    return list(enumerate((row if any(row[width:]) else row[:width] for row in rows), start=1))


def _text(cell: Any, path: Path) -> str:
    """Return a cell as text: whole numbers without ".0", dates in ISO format. Refuse formulas."""
    value = cell.value
    if cell.data_type == "f":
        remedy = "Write the text itself, or save the sheet with its values"
        raise InputError(
            "must be text, got a formula", where=f"{path}:{cell.row} {cell.column_letter}", remedy=remedy
        )
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
