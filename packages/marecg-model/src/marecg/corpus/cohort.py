"""Selection of records of a corpus that satisfy an expression, as a table (`marecg cohort`).

Shapes: M records, N concepts.
"""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ecg_base import guarded
from ecg_records.machine import MEASURED
from ecg_records.readers.identity import published_as
from ecg_records.readers.parts import name_of
from marecg.corpus import index
from marecg.corpus.expression import matching
from marecg.corpus.prepared import Corpus

COHORT_COLUMNS = (
    *("id", "source", "patient", "age", "sex", "acquired", "device"),
    *("codes", "root", "path", "fs", "length", "statements"),
    *(f"machine_{name}" for name in MEASURED),
)
"""Columns of the index that a cohort includes, if the index has them."""


def cohort(corpus: Corpus, where: str) -> pa.Table:
    """Return a row per record that satisfies an expression, such as `AF and age > 60`.

    `row` is the record's number in the corpus, and `name` its name in `marecg embed`. `identity` is the name
    under which it was published (`ptbxl/00001`, with the `ecg_id` as number). `COHORT_COLUMNS` of the index
    follow, and `leaves` by abbreviation.

    Raises `UsageError` if the expression can't be parsed, or has a name that the corpus doesn't know.
    """
    rows = matching(corpus, where)
    present = index.schema(corpus.folder).names
    table = index.of(corpus.folder, [name for name in COHORT_COLUMNS if name in present]).take(rows)
    places = zip(table["root"].to_pylist(), table["path"].to_pylist(), strict=True)
    identities = map(published_as, table["id"].to_pylist(), table["source"].to_pylist())
    columns = table.add_column(0, "identity", pa.array(list(identities), pa.string()))
    columns = columns.add_column(0, "name", pa.array([name_of(*place) for place in places], pa.string()))
    names = [node.abbr for node in corpus.ontology().nodes]
    active = [[names[leaf] for leaf in np.flatnonzero(y_N)] for y_N in corpus.y[rows]]
    leaves = pa.array(active, pa.list_(pa.string()))
    return columns.add_column(0, "row", pa.array(rows)).append_column("leaves", leaves)


def write(table: pa.Table, path: Path, how: str) -> None:
    """Write a cohort as `parquet` or in a format of `AS_TEXT`, to a path from `replacing(private=True)`."""
    if how == "parquet":
        index.write(table, path)
    else:
        path.write_text(AS_TEXT[how](table), encoding="utf-8")


def as_csv(table: pa.Table) -> str:
    """Return a CSV with a line per record. Codes and leaves are joined by spaces, statements by `;`."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        if row.get("statements"):
            row["statements"] = "; ".join(row["statements"])
        writer.writerow(guarded(" ".join(cell) if isinstance(cell, list) else cell) for cell in row.values())
    return text.getvalue()


def as_json(table: pa.Table) -> str:
    """Return a cohort as a JSON list of objects."""
    return json.dumps(table.to_pylist(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


AS_TEXT: dict[str, Callable[[Any], str]] = {"csv": as_csv, "json": as_json}
