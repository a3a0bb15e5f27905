"""Signals as text: a column per lead, a row per instant; separated by comma, semicolon, tab or blank.

Columns named by lead are taken and others, such as the time, passed over; without names the user says them.
A column `record` says whose a row is; then a row may also hold one `value` of one `lead`.
"""

import re
from collections.abc import Iterator
from functools import partial
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_records.machine import number
from ecg_records.readers.arrays.lazy_array import Unpacked
from ecg_records.signal.leads import LEADS
from ecg_records.stretch import FILE_BYTES

ENDINGS = (".csv", ".tsv", ".txt")
LONGEST_LINE = 1 << 16
PARSED_ROWS = 1 << 16
"""Rows that are parsed at a time."""
_LEADS = {lead.lower(): lead for lead in LEADS}
RECORD = ("record", "record_id", "ecg_id", "study_id")
"""What a column is called that says whose a row is."""
TIME = ("time", "time_s", "time_ms", "seconds", "timestamp", "sample", "t")
"""And one that says in which order rows stand; without it they stand as they come."""


class Form(NamedTuple):
    """Form of a text file: separator, decimal sign, and names of columns, if any."""

    separator: str
    decimal: str
    names: tuple[str, ...] | None
    columns: int

    @property
    def leads(self) -> dict[int, str]:
        """Return the columns that are named after leads."""
        plain = (re.sub(r"^(lead|ecg)[ _]", "", name.strip().strip('"').lower()) for name in self.names or ())
        return {place: _LEADS[name] for place, name in enumerate(plain) if name in _LEADS}

    def column(self, *called: str) -> int | None:
        """Return the first column with one of these names."""
        names = [name.strip().strip('"').lower() for name in self.names or ()]
        return next((names.index(name) for name in called if name in names), None)

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the columns that hold millivolts."""
        value = self.column("value")
        if self.leads or value is None or self.column("lead") is None or self.column(*RECORD) is None:
            return list(self.leads)
        return [value]


def form_of(path: Path) -> Form | None:
    """Detect the form of a text file of signals; None if its first lines have none."""
    try:
        with path.open(encoding="utf-8-sig", errors="strict") as file:
            first, second = (file.readline(LONGEST_LINE).rstrip("\r\n") for _ in range(2))
    except (OSError, ValueError):
        return None
    if not first.strip():
        return None
    separator = next((sign for sign in (";", "\t", ",") if sign in (second or first)), r"\s+")
    decimal = "," if separator == ";" and "," in second else "."
    heading, row = (re.split(separator, line.strip()) for line in (first, second or first))
    has_names = not all(_is_number(cell, decimal) for cell in heading)
    form = Form(separator, decimal, tuple(heading) if has_names else None, len(row))
    if len(heading) != len(row) or (has_names and not form.numbers):
        return None
    return form if all(_is_number(row[place], decimal) for place in form.numbers or range(len(row))) else None


def _is_number(cell: str, decimal: str) -> bool:
    text = cell.strip().replace(decimal, ".").lower()
    return text in ("", "nan") or not isnan(number(text))


def _one(path: Path, form: Form) -> Unpacked:
    """The samples of a file, [samples, leads]."""
    columns = list(form.leads) or list(range(form.columns))
    with path.open("rb") as file:
        lines = sum(bool(line.strip()) for line in iter(lambda: file.readline(LONGEST_LINE), b""))
    shape = (lines - (form.names is not None), len(columns))
    rows = partial(_rows, path, form, columns)
    return Unpacked(shape, np.dtype(np.float64), rows, leads=tuple(form.leads.values()))


def _rows(path: Path, form: Form, columns: list[int]) -> Iterator[bytes]:
    """The rows, some at a time. Raises `ValueError` where a cell isn't a number."""
    reader = pd.read_csv(
        path,
        sep=form.separator,
        decimal=form.decimal,
        header=None,
        skiprows=int(form.names is not None),
        usecols=columns,
        dtype=np.float64,
        chunksize=PARSED_ROWS,
    )
    with reader:
        for block in reader:
            yield block[columns].to_numpy().tobytes()


class Several:
    """Records of one table, each [samples, leads]: its rows are grouped by a column.

    `shape` is their number and that of the first; `names` are theirs, in the order of their first rows.
    """

    ragged = True

    def __init__(self, path: Path, form: Form, record: int) -> None:
        if path.stat().st_size > FILE_BYTES:
            raise ValueError(f"holds many records and more than {FILE_BYTES >> 20} MB: write a file for each")
        time, lead = form.column(*TIME), None if form.leads else form.column("lead")
        columns = [record, *form.numbers, *(place for place in (time, lead) if place is not None)]
        table = pd.read_csv(
            path,
            sep=form.separator,
            decimal=form.decimal,
            header=None,
            skiprows=1,
            usecols=columns,
            dtype={
                record: str,
                **dict.fromkeys(form.numbers, np.float64),
                **({lead: str} if lead is not None else {}),
            },
            encoding="utf-8-sig",
        )
        of_record = dict(iter(table.groupby(record, sort=False)))
        if time is not None:
            of_record = {name: rows.sort_values(time, kind="stable") for name, rows in of_record.items()}
        if lead is None:
            self.leads = tuple(form.leads.values())
            self._records = [rows[form.numbers].to_numpy() for rows in of_record.values()]
        else:
            of_lead = {name: _leads_of(rows, lead, form.numbers[0], name) for name, rows in of_record.items()}
            self.leads = tuple(next(iter(of_lead.values())))
            if other := [name for name, columns in of_lead.items() if set(columns) != set(self.leads)]:
                raise ValueError(f"record {other[0]} has other leads than the first")
            self._records = [np.stack([rows[one] for one in self.leads], axis=1) for rows in of_lead.values()]
        self.names = tuple(map(str, of_record))
        self.shape = (len(self._records), *self._records[0].shape)

    def __getitem__(self, key: tuple[slice, ...], /) -> list[NDArray[np.float64]]:
        return self._records[key[0]]


def _leads_of(rows: pd.DataFrame, lead: int, value: int, record: str) -> dict[str, NDArray[np.float64]]:
    """One record's samples by lead. Raises `ValueError` where leads differ in length, or none is one."""
    values = {
        str(name).strip().lower(): part[value].to_numpy() for name, part in rows.groupby(lead, sort=False)
    }
    leads = {_LEADS[name]: samples for name, samples in values.items() if name in _LEADS}
    if len({len(samples) for samples in leads.values()}) != 1:
        raise ValueError(f"record {record}: {'its leads differ in length' if leads else 'names no lead'}")
    return leads


def columns_in(path: Path) -> dict[str, "Unpacked | Several"]:
    """Return the array of a text file, by the name `columns`. Raises `ValueError` if it holds no signals."""
    form = form_of(path)
    if form is None:
        raise ValueError("has no columns of numbers, named by lead or without names")
    record = form.column(*RECORD)
    return {"columns": _one(path, form) if record is None else Several(path, form, record)}
