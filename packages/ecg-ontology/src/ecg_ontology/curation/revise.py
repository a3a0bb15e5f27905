"""Apply the decisions of reviewers to the routing tables: all decisions if the result is valid, or none."""

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ecg_base import InputError, UsageError
from ecg_ontology.base.errors import SourceError
from ecg_ontology.checks.enumeration import NO_LOCK, OTHER_VERSION
from ecg_ontology.checks.table_heads import bad_name
from ecg_ontology.curation.findings import findings
from ecg_ontology.curation.review import DECISIONS, candidate_state, review_rows
from ecg_ontology.curation.routing_file import Decision, RoutingFile
from ecg_ontology.curation.sheets import read_sheet
from ecg_ontology.formats.sources import read_source
from ecg_ontology.formats.sssom import read_head, read_sssom
from ecg_ontology.formats.transaction import editing, write_all
from ecg_ontology.graph.concepts import Finding, Severity
from ecg_ontology.graph.drafts import BASE_TABLE, Draft, RoutingRow, TableHead
from ecg_ontology.graph.routing import PAPER, canonical_code, malformation

_NEEDED = ("table", "code", "label", "predicate", "node", "comment", "decision", "reviewer", "date")
_COMPARED = ("label", "predicate", "node_label", "regime", "justification", "comment")
_WRITTEN = re.compile(r"[A-Za-z0-9:._~!$&'()*+,;=@%/?-]+")
"""Characters that a CURIE may contain."""
_BROKEN = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def read_decisions(sheet: str | Path, draft: Draft) -> tuple[Decision, ...]:
    """Read the decisions of a review sheet.

    Args:
        sheet: sheet written by `ecgonto review --out` or `ecgonto match`, with decisions.
        draft: content of the ontology's files, from which the sheet was made.

    Raises:
        InputError: the sheet can't be read, a decision is unknown or unsigned, a row was edited without a
            decision, or a row was moved to another code.
    """
    stated = {(row["table"], row["code"], row["node"]): row for row in review_rows(draft)}
    routed = {code for _, code, _ in stated}
    rows = read_sheet(Path(sheet), _NEEDED)
    for _, cells in rows:
        cells["code"] = canonical_code(cells["code"])
    removed = {_mapping_of(cells) for _, cells in rows if cells["decision"].casefold() == "remove"}
    decisions: dict[tuple[str, str, str], Decision] = {}
    for place, cells in rows:
        key = cells["table"], cells["code"], cells["node"]
        decision = cells["decision"].casefold()
        if (decision == "add" and key not in stated) or _is_candidate(cells):
            _refuse_moved_row(cells, decision, routed, removed, place)
        elif decision != "add":
            _refuse_lost_edit(cells, stated.get(key), decision, place)
        if not decision:
            continue
        if key in decisions:
            first = decisions[key]
            problem = (
                f"{key[1]} to {key[2] or 'nothing'} has a second decision, the first is in {first.place}"
            )
            raise InputError(problem, where=place, remedy="Keep a single decision")
        decisions[key] = decision_of(cells | {"decision": decision}, place)
    return tuple(decisions.values())


def _mapping_of(cells: Mapping[str, str]) -> tuple[str, str, str]:
    return cells["table"], cells["code"], cells.get("state", "")


def _is_candidate(cells: Mapping[str, str]) -> bool:
    """Return whether a row was written by `ecgonto match` and still has its original code and label."""
    return cells.get("state", "") == candidate_state(cells["code"], cells["label"])


def _refuse_moved_row(
    cells: Mapping[str, str], decision: str, routed: set[str], removed: set[tuple[str, str, str]], place: str
) -> None:
    """Raise if a row to add was made for another code, or if its code got a row after the sheet was made."""
    if not decision or not cells.get("state", ""):
        return
    if _is_candidate(cells):
        if cells["code"] in routed:
            problem = f"{cells['code']} got a row after the sheet was made"
            raise InputError(problem, where=place, remedy="Make a sheet of all mappings, and decide there")
    elif _mapping_of(cells) not in removed:
        problem = f"the row was made for another code or label than {cells['code']} ({cells['label']})"
        remedy = "Restore them. To move a code, also `remove` its old row. For a further row, empty `state`"
        raise InputError(problem, where=place, remedy=remedy)


def _refuse_lost_edit(
    cells: dict[str, str], before: dict[str, str] | None, decision: str, place: str
) -> None:
    """Raise if an edited row has no decision, or if the table changed after the sheet was made."""
    state = cells.get("state", "")
    if not state and not decision:
        return
    if before is None and state:
        problem = f"the table {cells['table']} has no row of {cells['code']} with this node"
        remedy = "Undo the edit, and move a code by `remove` and `add`. Or make a new sheet"
        raise InputError(problem, where=place, remedy=remedy)
    if before is None:
        return  # `RoutingFile.apply` rejects the decision if it needs an existing row
    if decision and state != before["state"]:
        problem = f"{cells['code']} to {cells['node'] or 'nothing'} was changed after the sheet was made"
        raise InputError(problem, where=place, remedy="Make a new sheet, and decide on the current row")
    taken = ("predicate", "comment") if decision == "change" else ()
    edited = [c for c in _COMPARED if c in cells and c not in taken and cells[c] != before[c].strip()]
    if edited and state == before["state"]:
        problem = f"the {edited[0]} of {cells['code']} was edited, but the decision is {decision or 'empty'}"
        remedy = "Write `change` for predicate and comment, `remove` and `add` for more, or undo the edit"
        raise InputError(problem, where=place, remedy=remedy)


def decision_of(cells: Mapping[str, str], place: str) -> Decision:
    """Return the decision in a row of a sheet. `cells` are the cells of the row, by column.

    Raises `InputError` with the location `place` if the decision isn't signed and dated, or is malformed.
    """
    decision = cells["decision"]
    if decision not in DECISIONS:
        remedy = f"Choose from {', '.join(DECISIONS)}"
        raise InputError(f"unknown decision {decision!r}", where=place, remedy=remedy)
    if problem := bad_name(cells["reviewer"]):
        raise InputError(
            f"invalid reviewer: {problem}", where=place, remedy="Write the name of the person who decided"
        )
    if not cells["reviewer"]:
        raise InputError(
            "a decision must have a reviewer", where=place, remedy="Write the name of the person who decided"
        )
    try:
        date = datetime.date.fromisoformat(cells["date"]).isoformat()
    except ValueError:
        problem = f"a decision must have a date, got {cells['date'] or 'an empty cell'}"
        raise InputError(problem, where=place, remedy="Write the date as YYYY-MM-DD") from None
    if date > (datetime.datetime.now(tz=datetime.UTC) + datetime.timedelta(days=1)).date().isoformat():
        raise InputError(
            f"the date {date} is in the future", where=place, remedy="Write the day of the decision"
        )
    names = ("table", "label", "node", "predicate", "comment", "reviewer")
    texts = {name: cells[name] for name in names} | {"override": cells.get("override", "")}
    for name, text in texts.items():
        if _BROKEN.search(text):
            raise InputError(
                f"the {name} must have no tab or line break", where=place, remedy="Use blanks instead"
            )
    code = canonical_code(cells["code"])
    if problem := malformation(code):
        problem = f"{code!r} isn't a code: {problem} [CCG-E301]"
        raise InputError(problem, where=place, remedy="Correct the code")
    if decision == "add" and not _WRITTEN.fullmatch(code):
        problem = f"the code must have only characters of a CURIE, got {code!r} [CCG-E301]"
        raise InputError(problem, where=place, remedy="Use ASCII letters and digits")
    return Decision(decision=decision, code=code, date=date, place=place, **texts)


def apply_decisions(
    sources: str | Path, decisions: Sequence[Decision] | Path
) -> tuple[dict[Path, str], Sequence[Decision]]:
    """Write decisions, or the decisions in a review sheet, to the routing tables in a folder of sources.

    Other processes that edit the same tables wait.

    Returns:
        The new text of each changed table, and the decisions.

    Raises:
        InputError: a decision changes a mapping that doesn't exist, or adds a mapping that exists.
        SourceError: the decisions break a rule. The message reports the first violation.
        UsageError: `sources` isn't a folder.
        OutputError: a table can't be written.
    """
    sources = Path(sources)
    if not sources.is_dir():
        remedy = "Give the folder of sources, because a bundle has no tables"
        raise UsageError("must be a folder of sources", where=sources, remedy=remedy)
    with editing(sources):
        draft = read_source(sources)
        if isinstance(decisions, Path):
            decisions = read_decisions(decisions, draft)
        tables: dict[str, RoutingFile] = {}
        for decision in decisions:
            if decision.table == PAPER and decision.decision == "keep":
                continue  # the paper's rows never change
            if decision.table not in tables:
                tables[decision.table] = RoutingFile(sources, decision.table, draft)
            tables[decision.table].apply(decision)
        _refuse_unsound(draft, tables)
        files = {table.path: table.text() for table in tables.values()}
        write_all(sources, files)
    return files, decisions


def decision_counts(decisions: Iterable[Decision]) -> str:
    """Return the number of decisions of each kind as text, such as "2 × keep, 1 × add"."""
    counts = Counter(decision.decision for decision in decisions)
    return ", ".join(f"{counts[kind]} × {kind}" for kind in DECISIONS if counts[kind]) or "no decision"


def _refuse_unsound(draft: Draft, tables: Mapping[str, RoutingFile]) -> None:
    """Raise if the new tables break a rule that the current tables keep."""
    after = [row for row in draft.mappings if row.table not in tables]
    heads = dict(draft.tables)
    for name, table in tables.items():
        after += read_sssom(table.path, name, draft.concepts, table.text())
        heads[table.path.name] = read_head(table.path, table.text())
    after.sort(key=lambda row: row.table != BASE_TABLE)

    def errors(rows: Sequence[RoutingRow], heads: Mapping[str, TableHead]) -> list[Finding]:
        # without the lock, because decisions may change frozen content
        stated = {"mappings": tuple(rows), "tables": dict(heads), "lock": None}
        all_findings = findings(draft.model_copy(update=stated))
        return [
            f for f in all_findings if f.severity is Severity.error and f.id not in (NO_LOCK, OTHER_VERSION)
        ]

    if new := errors(after, heads):
        old = {(finding.id, finding.message) for finding in errors(draft.mappings, draft.tables)}
        new = [finding for finding in new if (finding.id, finding.message) not in old]
    if new:
        problem = f"the decisions break a rule, and nothing was written: {new[0].message} [{new[0].id}]"
        raise SourceError(problem, where=new[0].where, remedy=new[0].fix)
