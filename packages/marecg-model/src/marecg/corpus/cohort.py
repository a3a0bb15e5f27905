"""`marecg cohort`: the records of a corpus that have some findings and lack others, as a table.

Shapes: M records, N concepts.
"""

import csv
import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecg_ontology import Concept, Ontology, find_concept
from marecg.base.errors import UsageError
from marecg.corpus import index
from marecg.corpus.prepared import Corpus
from marecg.read.record import name_of

COLUMNS = ("id", "source", "patient", "age", "sex", "acquired", "codes", "root", "path", "fs", "length")
"""What the index tells of each record of a cohort."""


def cohort(
    corpus: Corpus, concepts: Sequence[str], *, without: Sequence[str] = (), with_subtypes: bool = False
) -> pa.Table:
    """The records that have every one of some concepts, and none of others.

    Args:
        corpus: whose records; a record has a concept if one of its codes reaches it.
        concepts: what they have, each by any name that `ecg_ontology.find_concept` knows.
        without: what they have not.
        with_subtypes: a concept's subtypes count as it; a family is counted by its leaves, and only so.

    Returns:
        One row per record: `row`, its number in the corpus; `name`, as `marecg embed` calls it; `COLUMNS` of
        the index; `leaves`, their abbreviations.

    Raises:
        UnknownConceptError: a name means no concept, or several.
        UsageError: no concept is named, or a family without its subtypes.
    """
    if not concepts and not without:
        raise UsageError("no concept is named", remedy="Name one, such as --concept AMI")
    chosen_M = np.ones(len(corpus), bool)
    for name in concepts:
        chosen_M &= _having(corpus, name, with_subtypes)
    for name in without:
        chosen_M &= ~_having(corpus, name, with_subtypes)
    rows = np.flatnonzero(chosen_M)
    table = index.read(corpus.folder / "index.parquet", list(COLUMNS)).take(rows)
    places = zip(table["root"].to_pylist(), table["path"].to_pylist(), strict=True)
    named = table.add_column(0, "name", pa.array([name_of(*place) for place in places], pa.string()))
    leaves = pa.array(abbreviations(corpus.ontology(), corpus.y[rows]), pa.list_(pa.string()))
    return named.add_column(0, "row", pa.array(rows)).append_column("leaves", leaves)


def abbreviations(onto: Ontology, y_MN: NDArray[np.uint8]) -> list[list[str]]:
    """The active leaves of records by name, in index order."""
    names = [node.abbr for node in onto.nodes]
    return [[names[leaf] for leaf in np.flatnonzero(y_N)] for y_N in y_MN]


def _having(corpus: Corpus, name: str, with_subtypes: bool) -> NDArray[np.bool_]:
    """Which records have a concept, bool [M]."""
    onto = corpus.ontology()
    concept = find_concept(onto, name)
    below: tuple[Concept, ...] = onto.descendants(concept.abbr)
    if concept.root and not with_subtypes:
        few = ", ".join(each.abbr for each in below[:5])
        raise UsageError(
            f"{concept.abbr} is a family, and records have findings of it",
            remedy=f"Add --with-subtypes, or name one of {few}",
        )
    kinds = [each.index for each in (concept, *(below if with_subtypes else ()))]
    return np.asarray(corpus.y[:, kinds].any(axis=1))


def write(table: pa.Table, path: Path, how: str) -> None:
    """Write a cohort as `parquet` or a key of `AS_TEXT`.

    Nobody but the owner and the group may read the file: it says who is a patient where.
    """
    if how == "parquet":
        index.write(table, path)
    else:
        path.write_text(AS_TEXT[how](table), encoding="utf-8")
        index.keep_private(path)


def as_csv(table: pa.Table) -> str:
    """One line per record; several codes or leaves in one cell, with spaces between them."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in table.to_pylist():
        writer.writerow(" ".join(cell) if isinstance(cell, list) else cell for cell in row.values())
    return text.getvalue()


def as_json(table: pa.Table) -> str:
    """A list of objects."""
    return json.dumps(table.to_pylist(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


AS_TEXT: dict[str, Callable[[Any], str]] = {"csv": as_csv, "json": as_json}
