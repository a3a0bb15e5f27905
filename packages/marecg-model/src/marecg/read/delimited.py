"""One record as text: a column per lead, a row per instant, parted by commas, semicolons, tabs or blanks.

Columns named by lead are taken and others, such as the time, passed over; without names the user says them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from marecg.base.config import LEADS
from marecg.read.lazy_array import ForwardRows

ENDINGS = (".csv", ".tsv", ".txt")
LONGEST_LINE = 1 << 16
BLOCK = 1 << 16
"""Rows that are parsed at a time."""
_LEADS = {lead.lower(): lead for lead in LEADS}


class Form(NamedTuple):
    """How a file is written: what parts its cells, its decimal sign, and the names of its columns, if any."""

    separator: str
    decimal: str
    names: tuple[str, ...] | None
    columns: int

    @property
    def leads(self) -> dict[int, str]:
        """The columns that are named by lead."""
        plain = (re.sub(r"^(lead|ecg)[ _]", "", name.strip().strip('"').lower()) for name in self.names or ())
        return {place: _LEADS[name] for place, name in enumerate(plain) if name in _LEADS}


def form_of(path: Path) -> Form | None:
    """How a file of signals is written; None where its beginning isn't such a file's."""
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
    named = not all(_is_number(cell, decimal) for cell in heading)
    form = Form(separator, decimal, tuple(heading) if named else None, len(row))
    if len(heading) != len(row) or (named and not form.leads):
        return None
    return form if all(_is_number(row[place], decimal) for place in form.leads or range(len(row))) else None


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.strip().replace(decimal, ".") or "nan")
    except ValueError:
        return False
    return True


class Delimited(ForwardRows):
    """The samples of a file, [samples, leads]."""

    def __init__(self, path: Path, form: Form) -> None:
        self._path, self._form = path, form
        self._columns = list(form.leads) or list(range(form.columns))
        self.leads = tuple(form.leads.values())
        with path.open("rb") as file:
            lines = sum(bool(line.strip()) for line in iter(lambda: file.readline(LONGEST_LINE), b""))
        super().__init__(lines - (form.names is not None), len(self._columns))

    def blocks(self) -> Iterator[NDArray[Any]]:
        """All rows, some at a time. Raises `ValueError` where a cell isn't a number."""
        reader = pd.read_csv(
            self._path,
            sep=self._form.separator,
            decimal=self._form.decimal,
            header=None,
            skiprows=int(self._form.names is not None),
            usecols=self._columns,
            dtype=np.float64,
            chunksize=BLOCK,
        )
        with reader:
            for block in reader:
                yield block[self._columns].to_numpy()


def columns_in(path: Path) -> dict[str, Delimited]:
    """The one array of a file. Raises `ValueError` where it holds no signals."""
    form = form_of(path)
    if form is None:
        raise ValueError("has no columns of numbers, named by lead or without names")
    return {"columns": Delimited(path, form)}
