"""Make a table of a corpus' records, or of the records that satisfy an expression (`marecg cohort`).

Shapes: M records, N concepts.
"""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ecg_base import guarded
from ecg_ontology import Concept, Ontology, read_statement
from ecg_records.readers.identity import published_as
from ecg_records.readers.parts import name_of
from marecg.corpus import index
from marecg.corpus.intervals import INTERVALS, intervals
from marecg.corpus.prepared import Corpus
from marecg.corpus.where import columns, matching, parsed

LEFT_OUT = {"shard", "row", "n_valid", "leaves", "primary", "rpeaks", "signal_hash"}
"""Columns of the index that are left out of the table."""
INFARCTIONS = "MI"
"""Name of the column for all infarctions. ST and T changes, which have the same root concept, don't count."""
SAYS = "says"
"""Name of the column with the concepts that the device's statements report, and their ancestors."""


def cohort(corpus: Corpus, where: str | None = None) -> pa.Table:
    """Return a table with a row for each record that satisfies an expression.

    The columns are:

    - `row`, the number of the record in the corpus.
    - `name`, the name of the record in `marecg embed`.
    - `identity`, the name under which the record was published, for example `ptbxl/00001`.
    - The columns of the index that aren't in `LEFT_OUT`. Its column `acquired` is called `date`.
    - `leaves`, the abbreviations of the record's leaf concepts.
    - `seconds`, the length of the recording.
    - A Boolean column for each concept, which is also true for its descendants, and `MI` for all infarctions.
    - The names in `INTERVALS`, such as `qrs`, measured on the signal, and `says`, the concepts that the
      device's statements report. They are computed only if the expression uses them, or without expression.

    Unknown values are null.

    Args:
        corpus: Corpus.
        where: SQL expression such as `AF AND age > 60`. All records if None.

    Raises:
        UsageError: If the expression is invalid.
    """
    onto, table = corpus.ontology(), _records(corpus)
    computed = {*INTERVALS, SAYS} if "statements" in table.column_names else {*INTERVALS}
    if where is not None:
        tree = parsed(where)
        computed &= columns(tree, [*table.column_names, *sorted(computed)], onto)
    if computed & {*INTERVALS}:
        measured = intervals(corpus)
        for name in INTERVALS:
            table = table.append_column(name, _known(measured[name]))
    if SAYS in computed:
        table = table.append_column(SAYS, _said(onto, table["statements"]))
    if where is None:
        return table
    return table.take(pa.array(matching(table, where, tree, onto), pa.int64()))


def _records(corpus: Corpus) -> pa.Table:
    """Return the columns of `cohort` except `INTERVALS` and `says`."""
    rows = index.of(corpus.folder)
    paths = zip(rows["root"].to_pylist(), rows["path"].to_pylist(), strict=True)
    identities = map(published_as, rows["id"].to_pylist(), rows["source"].to_pylist())
    fields = {
        "row": pa.array(range(len(rows))),
        "name": pa.array([name_of(root, path) for root, path in paths], pa.string()),
        "identity": pa.array(identities, pa.string()),
    }
    kept = [name for name in rows.column_names if name not in LEFT_OUT]
    fields |= {"date" if name == "acquired" else name: _known(rows[name]) for name in kept}
    fields["seconds"] = pc.divide(fields["length"].cast(pa.float64()), fields["fs"])
    onto = corpus.ontology()
    names = [node.abbr for node in onto.nodes]
    leaves = rows["leaves"].combine_chunks()
    fields["leaves"] = pa.ListArray.from_arrays(leaves.offsets, pa.array(names).take(leaves.values))
    sets = {name: [onto.node(name), *onto.descendants(name)] for name in names}
    if infarctions := [node for node in onto.nodes if not node.root and _is_infarction(node)]:
        sets = {INFARCTIONS: infarctions} | sets
    taken = {*map(str.lower, fields), *INTERVALS, SAYS}
    for name, concepts in sets.items():  # SQL ignores case, and a graph may have a concept QRS
        field = f"{name}_concept" if name.lower() in taken else name
        fields[field] = pa.array(corpus.y[:, [concept.index for concept in concepts]].any(axis=1))
    return pa.table(fields)


def _is_infarction(node: Concept) -> bool:
    return any("infarct" in text.lower() for text in (node.label, *(name.text for name in node.synonyms)))


def _known(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Replace NaN by null."""
    return pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column


def _said(onto: Ontology, statements: pa.ChunkedArray) -> pa.Array:
    """Return the abbreviations of the concepts that each record's statements report, with their ancestors."""
    said: dict[str | None, set[str]] = {}
    for text in pc.unique(pc.list_flatten(statements)).to_pylist():
        found = [mention.concept for mention in read_statement(onto, text or "") if mention.present]
        concepts = [concept for concept in found if concept]
        said[text] = {node.abbr for concept in concepts for node in (concept, *onto.ancestors(concept.abbr))}
    rows = [sorted(set().union(*(said[text] for text in texts or ()))) for texts in statements.to_pylist()]
    return pa.array(rows, pa.list_(pa.string()))


def write(table: pa.Table, path: Path, how: str) -> None:
    """Write a cohort to a file.

    Args:
        table: Table from `cohort`.
        path: Temporary path from `with replacing(file, private=True)`, which then becomes the file.
        how: Format: `parquet`, or a key of `AS_TEXT`.
    """
    if how == "parquet":
        index.write(table, path)
    else:
        path.write_text(AS_TEXT[how](table), encoding="utf-8")


def as_csv(table: pa.Table) -> str:
    """Return a cohort as CSV. Codes and leaves are joined by spaces, and statements by semicolons."""
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
