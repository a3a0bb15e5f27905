"""Decisions of reviewers, back into the routing tables: only if what results is sound, else none of them."""

import datetime
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ecg_ontology.checks.every import findings
from ecg_ontology.concepts import Severity
from ecg_ontology.drafts import BASE_TABLE, Draft
from ecg_ontology.errors import InputError, SourceError, UsageError
from ecg_ontology.loading import read_draft
from ecg_ontology.review import DECISIONS, sheet_row
from ecg_ontology.routing_file import Decision, RoutingFile
from ecg_ontology.sheets import read_sheet
from ecg_ontology.sources import read_source
from ecg_ontology.sssom import read_sssom

_NEEDED = ("table", "code", "label", "predicate", "node", "comment", "decision", "reviewer", "date")


def read_decisions(sheet: str | Path, sources: str | Path | None = None) -> tuple[Decision, ...]:
    """Read the decisions of a review sheet.

    Args:
        sheet: what `ecgonto review --out` wrote, with decisions.
        sources: the ontology that it was made from, as for `ecg_ontology.load`.

    Raises:
        InputError: the sheet can't be read, a decision is unknown or unsigned, or a row was edited without.

    Example:
        >>> import ecg_ontology, tempfile
        >>> from ecg_ontology.review import review_rows, write_review
        >>> sheet = Path(tempfile.mkdtemp()) / "review.tsv"
        >>> rows = review_rows(ecg_ontology.load())
        >>> rows[0] |= {"decision": "keep", "reviewer": "A. Reviewer", "date": "2026-01-31"}
        >>> _ = write_review(sheet, rows)
        >>> [decision.decision for decision in read_decisions(sheet)]
        ['keep']
    """
    draft = read_draft(sources)
    rows = [sheet_row(draft, row) for row in draft.mappings]
    stated = {(row["table"], row["code"], row["node"]): row for row in rows}
    decisions = []
    for place, cells in read_sheet(Path(sheet), _NEEDED):
        before = stated.get((cells["table"], cells["code"], cells["node"]))
        edited = [c for c in ("predicate", "comment", "label") if before and cells[c] != before[c].strip()]
        decision = cells["decision"].casefold()
        if decision in ("", "keep") and edited:
            raise InputError(
                f"the {edited[0]} of {cells['code']} was edited, and the decision is {decision or 'empty'}",
                where=place,
                remedy="Write `change` as the decision, or undo the edit",
            )
        if decision:
            decisions.append(_decision(cells, decision, place))
    return tuple(decisions)


def _decision(cells: dict[str, str], decision: str, place: str) -> Decision:
    if decision not in DECISIONS:
        remedy = f"Choose one of {', '.join(DECISIONS)}"
        raise InputError(f"no decision is called {decision!r}", where=place, remedy=remedy)
    if not cells["reviewer"]:
        raise InputError("a decision without a reviewer", where=place, remedy="Write who decided")
    try:
        date = datetime.date.fromisoformat(cells["date"]).isoformat()
    except ValueError:
        problem = f"{cells['date']!r} is no date" if cells["date"] else "a decision without a date"
        raise InputError(problem, where=place, remedy="Write it as YYYY-MM-DD") from None
    names = ("table", "code", "label", "node", "predicate", "comment", "reviewer")
    texts = {name: cells[name] for name in names}
    for name, text in texts.items():
        if len(text.splitlines()) > 1 or "\t" in text:
            raise InputError(f"the {name} holds a tab or a line break", where=place, remedy="Use blanks")
    return Decision(decision=decision, date=date, place=place, **texts)


def revised_files(sources: str | Path, decisions: Sequence[Decision]) -> dict[Path, str]:
    """Return the text of every routing table of `sources` that the decisions change.

    Raises:
        InputError: a decision is about a mapping that is not there, or is there already.
        SourceError: the decisions break a rule; the message names the first breach.

    Example:
        >>> import ecg_ontology
        >>> revised_files("ontology", [])
        {}
    """
    sources = Path(sources)
    if not sources.is_dir():
        remedy = "Name the folder of sources: a bundle holds no tables"
        raise UsageError("is no folder of sources", where=sources, remedy=remedy)
    draft = read_source(sources)
    tables: dict[str, RoutingFile] = {}
    for decision in decisions:
        if decision.table not in tables:
            tables[decision.table] = RoutingFile(sources, decision.table, draft)
        tables[decision.table].apply(decision)
    texts = {table.path: table.text() for table in tables.values()}
    _refuse_unsound(draft, {name: table.path for name, table in tables.items()}, texts)
    return texts


def decision_counts(decisions: Iterable[Decision]) -> str:
    """Return the decisions in words, by kind.

    Example:
        >>> import ecg_ontology
        >>> decision_counts([])
        'no decision'
    """
    counts = Counter(decision.decision for decision in decisions)
    return ", ".join(f"{counts[kind]} × {kind}" for kind in DECISIONS if counts[kind]) or "no decision"


def _refuse_unsound(draft: Draft, paths: dict[str, Path], texts: dict[Path, str]) -> None:
    rows = [row for row in draft.mappings if row.table not in paths]
    with tempfile.TemporaryDirectory() as folder:
        for name, path in paths.items():
            copy = Path(folder) / path.name
            copy.write_text(texts[path], encoding="utf-8")
            rows += read_sssom(copy, name)
    rows.sort(key=lambda row: row.table != BASE_TABLE)
    draft = draft.model_copy(update={"lock": None})  # decisions are to change what is frozen
    before = {(finding.id, finding.message) for finding in findings(draft)}
    after = findings(draft.model_copy(update={"mappings": tuple(rows)}))
    errors = [f for f in after if f.severity is Severity.error and (f.id, f.message) not in before]
    if errors:
        first = errors[0]
        problem = f"with these decisions {first.message} [{first.id}]: nothing was written"
        raise SourceError(problem, where=first.where, remedy=first.fix)
