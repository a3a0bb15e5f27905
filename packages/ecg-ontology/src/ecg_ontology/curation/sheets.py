"""Write and read sheets that people fill in: delimited text, or a workbook (extra ``xlsx``)."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from ecg_base import InputError, UsageError, guarded, replacing, unguarded
from ecg_ontology.base.tables import lines
from ecg_ontology.base.workbooks import openpyxl, read_workbook

ENDINGS = (".tsv", ".csv", ".xlsx")
_LONGEST = 32_767
"""Maximum number of characters in a cell of a workbook."""
_WIDEST = 60
"""Maximum width of a workbook column, in characters."""


def write_sheet(
    path: Path,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    choices: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a sheet as text or workbook. In a workbook, columns with `choices` get a drop-down list.

    Raises `UsageError` if the suffix is unknown, or openpyxl is not installed.
    """
    _refuse_other_endings(path)
    with replacing(path) as temporary:
        if path.suffix == ".xlsx":
            _write_workbook(temporary, columns, rows, choices or {})
            return
        with temporary.open("w", encoding="utf-8", newline="") as file:
            rows = [{column: guarded(text) for column, text in row.items()} for row in rows]
            dialect = "excel-tab" if path.suffix == ".tsv" else "excel"
            writer = csv.DictWriter(file, columns, restval="", dialect=dialect, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def read_sheet(path: Path, needed: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the location (``file:line``) and the stripped cells by column of each row in a sheet.

    Raises `UsageError` if the suffix is unknown, or openpyxl is not installed. Raises `InputError` if the
    file can't be read, lacks a `needed` column, or has two columns with the same name.
    """
    _refuse_other_endings(path)
    numbered = read_workbook(path) if path.suffix == ".xlsx" else list(lines(path, strict=True))
    header = [cell.strip() for cell in numbered[0][1]] if numbered else []
    if doubled := next((column for column in header if column and header.count(column) > 1), ""):
        raise InputError(f"has two columns {doubled}", where=path, remedy="Restore the original header")
    missing = [column for column in needed if column not in header]
    if missing:
        problem = f"has no column {', '.join(missing)}"
        raise InputError(problem, where=path, remedy="Restore the original header")
    rows = []
    for number, line in numbered[1:]:
        if any(cell.strip() for cell in line):
            if len(line) > len(header):
                problem = f"must have {len(header)} cells like the header, got {len(line)}"
                raise InputError(problem, where=f"{path}:{number}")
            cells = [unguarded(cell.strip()) for cell in line] + [""] * (len(header) - len(line))
            rows.append((f"{path}:{number}", dict(zip(header, cells, strict=True))))
    return rows


def _refuse_other_endings(path: Path) -> None:
    if path.suffix not in ENDINGS:
        problem = f"must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise UsageError(problem, where=path, remedy="Choose another file name")


def _write_workbook(
    path: Path,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    choices: Mapping[str, Sequence[str]],
) -> None:
    for row in rows:
        for column, text in row.items():
            if len(text) > _LONGEST:
                problem = f"a cell must have at most {_LONGEST:,} letters, got {len(text):,} in {column}"
                raise UsageError(problem, where=path.name, remedy="Use .tsv or .csv")
    book = openpyxl().Workbook()
    sheet = book.active
    header = dict(zip(columns, columns, strict=True))
    for number, row in enumerate((header, *rows), start=1):
        for index, column in enumerate(columns, start=1):
            cell = sheet.cell(number, index, row.get(column, ""))
            cell.data_type, cell.number_format = "s", "@"  # keep digits and "=" as text
    from openpyxl.styles import Alignment, Font
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.datavalidation import DataValidation

    for index, column in enumerate(columns, start=1):
        letter = get_column_letter(index)
        longest = max((len(row.get(column, "")) for row in rows), default=0)
        sheet.column_dimensions[letter].width = min(_WIDEST, max(longest, len(column)) + 2)
        sheet.cell(1, index).font = Font(bold=True)
        for row in sheet.iter_rows(min_row=2, min_col=index, max_col=index):
            row[0].alignment = Alignment(wrap_text=longest > _WIDEST, vertical="top")
        if column in choices:
            rule = DataValidation(type="list", formula1=f'"{",".join(choices[column])}"', allow_blank=True)
            rule.add(f"{letter}2:{letter}{len(rows) + 1000}")
            sheet.add_data_validation(rule)
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = sheet.dimensions
    book.save(path)
