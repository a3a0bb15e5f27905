"""Read signals from text files with a column per lead and a row per sample.

Columns are separated by comma, semicolon, tab or blank. Columns named after leads are read, and other columns
are ignored. If the file has no column names, the user's layout names the columns. A time column gives the
order of rows and their gaps (`clock`). If the file has several records, a column `record` names the
record of each row. A row may then also hold a single sample, with columns `lead` and `value`.

Shapes: K leads of the file, L samples.
"""

import re
from collections.abc import Iterator
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecg_records.machine import number
from ecg_records.readers.arrays.clock import RECORD, TIME, Clock, clock_of
from ecg_records.readers.arrays.lazy_array import Unpacked
from ecg_records.signal.leads import is_lead
from ecg_records.stretch import FILE_BYTES, LONGEST

ENDINGS = (".csv", ".tsv", ".txt")
LONGEST_LINE = 1 << 16
PARSED_ROWS = 1 << 16
"""Number of rows to parse at a time."""
SORTED_BYTES = 4 * FILE_BYTES
"""Maximum size in bytes of a file with unsorted rows or gaps, because its rows are sorted in memory."""


class Form(NamedTuple):
    """Form of a text file: separator, decimal sign, and names of columns, if any."""

    separator: str
    decimal: str
    names: tuple[str, ...] | None
    columns: int

    @property
    def leads(self) -> dict[int, str]:
        """Return the headings of the columns that are named after leads, by column number."""
        return {column: name for column, name in enumerate(self.headings) if is_lead(name)}

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the column names without quotes, or () if the file has no names."""
        return tuple(name.strip().strip('"').strip() for name in self.names or ())

    @property
    def unused(self) -> tuple[str, ...]:
        """Return the names of columns that aren't read, because they hold no lead, time, record or value."""
        known = {*RECORD, *TIME, "lead", "value"}
        return tuple(name for name in self.headings if not is_lead(name) and name.lower() not in known)

    def column(self, *names: str) -> int | None:
        """Return the number of the column with the first of these names that occurs, or None."""
        headings = [name.lower() for name in self.headings]
        return next((headings.index(name) for name in names if name in headings), None)

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the columns that hold samples."""
        value = self.column("value")
        if self.leads or value is None or self.column("lead") is None or self.column(*RECORD) is None:
            return list(self.leads)
        return [value]


def form_of(path: Path) -> Form | None:
    """Detect the form of a text file from its first two lines. Return None if the file holds no signals."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:  # headings may contain µ in Latin-1
            first, second = (file.readline(LONGEST_LINE).rstrip("\r\n") for _ in range(2))
    except (OSError, ValueError):
        return None
    if not first.strip() or "\0" in first + second:
        return None
    separator = next((sign for sign in (";", "\t", ",") if sign in (second or first)), r"\s+")
    decimal = "," if separator != "," and "," in (second or first) else "."
    heading, row = (re.split(separator, line.strip()) for line in (first, second or first))
    has_names = not all(_is_number(cell, decimal) for cell in heading)
    form = Form(separator, decimal, tuple(heading) if has_names else None, len(row))
    if len(heading) != len(row) or (has_names and not form.numbers):
        return None
    return (
        form if all(_is_number(row[column], decimal) for column in form.numbers or range(len(row))) else None
    )


def _is_number(cell: str, decimal: str) -> bool:
    text = cell.strip().replace(decimal, ".").lower()
    return text in ("", "nan") or not isnan(number(text))


def _single_record(path: Path, form: Form) -> Unpacked:
    """Return the samples of a file with a single record, [samples, leads]."""
    columns = list(form.leads) or list(range(form.columns))
    with path.open("rb") as file:
        lines = sum(bool(line.strip()) for line in iter(lambda: file.readline(LONGEST_LINE), b""))
    clock = _clock(path, form)
    rows = partial(_rows, path, form, columns)
    length = lines - (form.names is not None)
    if clock is not None and (clock.order is not None or clock.places is not None):
        if path.stat().st_size > SORTED_BYTES:
            problem = f"must have at most {SORTED_BYTES >> 20} MB if its rows have gaps or aren't sorted"
            raise ValueError(f"{problem}: sort the rows, or split the file")
        length, rows = clock.length, partial(_arranged, path, form, columns, clock)
    return Unpacked(
        (length, len(columns)),
        np.dtype(np.float64),
        rows,
        leads=tuple(form.leads.values()),
        unused=form.unused,
        clocks=() if clock is None else (clock,),
    )


def _clock(path: Path, form: Form) -> Clock | None:
    """Return the time column of a file with a single record, or None."""
    column = form.column(*TIME)
    if column is None:
        return None
    options: dict[str, Any] = {"sep": form.separator, "decimal": form.decimal, "header": None, "skiprows": 1}
    options |= {"usecols": [column], "encoding": "utf-8", "encoding_errors": "replace"}
    try:
        cells = pd.read_csv(path, dtype=np.float64, **options)[column].to_numpy()
    except ValueError:
        if path.stat().st_size > FILE_BYTES:
            return None
        cells = pd.read_csv(path, dtype=str, **options)[column]
    return clock_of(form.headings[column].lower(), cells, LONGEST)


def _arranged(path: Path, form: Form, columns: list[int], clock: Clock) -> Iterator[bytes]:
    """Yield the bytes of all rows, sorted by time."""
    x_LK = np.frombuffer(b"".join(_rows(path, form, columns))).reshape(-1, len(columns))
    yield clock.arranged(x_LK).tobytes()


def _rows(path: Path, form: Form, columns: list[int]) -> Iterator[bytes]:
    """Yield the bytes of the rows, block by block. Raises `ValueError` if a cell isn't a number."""
    reader = pd.read_csv(
        path,
        sep=form.separator,
        decimal=form.decimal,
        header=None,
        skiprows=int(form.names is not None),
        usecols=columns,
        dtype=np.float64,
        chunksize=PARSED_ROWS,
        encoding="utf-8",
        encoding_errors="replace",
    )
    with reader:
        for block in reader:
            yield block[columns].to_numpy().tobytes()


class RecordTable:
    """Records of a file with a `record` column, each [samples, leads].

    Attributes:
        shape: number of records, and shape of the first record.
        names: names of the records, in the order of their first rows.
    """

    ragged = True

    def __init__(self, path: Path, form: Form, record: int) -> None:
        if path.stat().st_size > FILE_BYTES:
            most, found = FILE_BYTES >> 20, path.stat().st_size >> 20
            problem = f"must have at most {most} MB if it has several records, got {found:,} MB"
            raise ValueError(f"{problem}: write a file for each record")
        time, lead = form.column(*TIME), None if form.leads else form.column("lead")
        columns = [record, *form.numbers, *(column for column in (time, lead) if column is not None)]
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
            encoding_errors="replace",
        )
        of_record = dict(iter(table.groupby(record, sort=False)))
        self.unused = form.unused
        self.leads = tuple(form.leads.values())
        self.clocks: list[Clock | None] = []
        self._records: list[NDArray[np.float64]] = []
        for name, rows in of_record.items():
            times = None if time is None else rows[time] if lead is None else rows[time].drop_duplicates()
            heading = "" if time is None else form.headings[time].lower()
            clock = None if times is None else clock_of(heading, times, LONGEST)
            if lead is None:
                x_LK = rows[form.numbers].to_numpy()
            else:
                of_lead = _leads_of(rows, lead, form.numbers[0], name, times if clock else None)
                self.leads = self.leads or tuple(of_lead)
                if set(of_lead) != set(self.leads):
                    raise ValueError(f"record {name} must have the same leads as the first record")
                x_LK = np.stack([of_lead[lead_name] for lead_name in self.leads], axis=1)
            self.clocks.append(clock)
            self._records.append(x_LK if clock is None else clock.arranged(x_LK))
        self.names = tuple(map(str, of_record))
        self.shape = (len(self._records), *self._records[0].shape)

    def __getitem__(self, key: tuple[slice, ...], /) -> list[NDArray[np.float64]]:
        return self._records[key[0]]


def _leads_of(
    rows: pd.DataFrame, lead: int, value: int, record: str, times: "pd.Series[Any] | None"
) -> dict[str, NDArray[np.float64]]:
    """Return the samples of a record by lead, at `times`, or in the order of the file if there are no times.

    A lead without a sample at some time has NaN there.

    Raises:
        ValueError: There are no leads, a lead has two samples at a time, or leads without times differ in
            length.
    """
    groups = {str(name).strip(): part for name, part in rows.groupby(lead, sort=False) if is_lead(str(name))}
    if not groups:
        raise ValueError(f"record {record}: must have rows with the name of a lead")
    if times is None:
        leads = {name: part[value].to_numpy() for name, part in groups.items()}
        if len({len(samples) for samples in leads.values()}) != 1:
            raise ValueError(f"record {record}: leads must have the same length")
        return leads
    by_time = {name: part.set_index(times.name)[value] for name, part in groups.items()}
    if twice := [name for name, values in by_time.items() if not values.index.is_unique]:
        raise ValueError(f"record {record}: lead {twice[0]} has two rows with the same time")
    return {name: values.reindex(times).to_numpy() for name, values in by_time.items()}


def columns_in(path: Path) -> dict[str, "Unpacked | RecordTable"]:
    """Return the array of a text file, as a dict with the single key `columns`.

    The array is a `RecordTable` if the file has a column of record names, such as `record`. Raises
    `ValueError` if the file has neither columns named after leads nor numbers without a header.
    """
    form = form_of(path)
    if form is None:
        raise ValueError("must have columns of numbers, with lead names or without a header")
    record = form.column(*RECORD)
    return {"columns": _single_record(path, form) if record is None else RecordTable(path, form, record)}
