"""Make review sheets for clinicians: all mappings with reasons and counts, and columns for decisions.

A mapping is a row of a routing table: a code and the concept (node) that the code is assigned to.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ecg_base import UsageError
from ecg_ontology.codes.corpus_codes import CorpusCodes
from ecg_ontology.curation.sheets import write_sheet
from ecg_ontology.graph.concepts import Regime
from ecg_ontology.graph.drafts import Draft, DraftConcept, RoutingRow
from ecg_ontology.graph.enumeration import sha256_of

_MAPPING = ("table", "code", "label", "predicate", "node", "node_label", "regime", "justification", "comment")
SHEET_COLUMNS = (*_MAPPING, "author", "dated", "records", "state", "decision", "reviewer", "date", "override")
"""Columns of a review sheet. Reviewers fill in the last four. `state` shows whether a row is out of date."""
DECISIONS = ("keep", "change", "remove", "add")


def review_rows(draft: Draft, corpus: CorpusCodes | None = None) -> list[dict[str, str]]:
    """Return the rows of a review sheet without decisions: all mappings in the files of an ontology.

    If a corpus is given, the column ``records`` has the number of records in the corpus with the code.
    """
    return [_sheet_row(row, draft.by_iri.get(row.node or ""), corpus) for row in draft.mappings]


def _sheet_row(row: RoutingRow, concept: DraftConcept | None, corpus: CorpusCodes | None) -> dict[str, str]:
    state = (row.label, row.predicate, row.modifier, row.justification, row.reason, row.author, row.date)
    return {
        **dict.fromkeys(SHEET_COLUMNS, ""),
        "table": row.table,
        "code": row.code,
        "label": row.label,
        "predicate": "" if row.regime is Regime.unrouted else row.predicate,
        "node": concept.abbr if concept else "",
        "node_label": concept.label if concept else "",
        "regime": row.regime.value,
        "justification": row.justification,
        "comment": row.reason,
        "author": row.author,
        "dated": row.date,
        "records": "" if corpus is None else str(corpus.counts.get(row.code, 0)),
        "state": sha256_of(state)[:8],
    }


def candidate_state(code: str, label: str) -> str:
    """Return a short hash of a proposed code and its label, to detect that a reviewer edited them."""
    return sha256_of((code, label))[:8]


def write_review(out: str | Path, rows: Sequence[Mapping[str, str]]) -> Path:
    """Write a review sheet as .tsv, .csv or .xlsx. The workbook offers the decisions in a drop-down list.

    Raises `UsageError` if the file exists, its suffix is unknown, or openpyxl is not installed. Raises
    `OutputError` if the file can't be written.
    """
    if Path(out).exists():
        problem = "already exists and may contain decisions"
        raise UsageError(problem, where=out, remedy="Choose a new file, or apply the decisions first")
    columns = tuple(dict.fromkeys((*SHEET_COLUMNS, *(column for row in rows for column in row))))
    write_sheet(Path(out), columns, rows, {"decision": DECISIONS})
    return Path(out)
