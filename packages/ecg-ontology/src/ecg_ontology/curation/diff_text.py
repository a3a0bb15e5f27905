"""Format the differences between two ontologies as text: the summary first, then the details.

The target of a record is a distribution over concepts, centred on its primary concept c*, one of its leaves
(concepts of findings). The total variation of two targets is half the sum of their absolute differences.
"""

from collections.abc import Iterator

from ecg_base import plain_markdown
from ecg_ontology.curation.diff import ChangedCode, Difference
from ecg_ontology.graph.drafts import RoutingRow
from ecg_ontology.ontology import Ontology

THRESHOLD = 0.05
"""Total variation below which a code with equal leaves and c* is counted instead of listed."""
_PAIRS = 20
"""Maximum number of pairs with a changed distance to list."""


def difference_text(difference: Difference, threshold: float = THRESHOLD) -> str:
    """Return a difference from `ecg_ontology.compare` as text.

    Args:
        difference: result of `compare`.
        threshold: total variation from 0 to 1. Codes whose target changes by less are only counted, unless
            their leaves or c* change. 0 lists everything.
    """
    return "\n".join(_lines(difference, threshold))


def difference_markdown(old: Ontology, new: Ontology, difference: Difference) -> str:
    """Return a difference as Markdown for a pull request: changed rows of tables, then changed targets."""
    before, after = _by_key(old), _by_key(new)
    rows = []
    for key in sorted({**before, **after}, key=lambda key: (key[0], key[1], key[2] or "")):
        was, row = before.get(key), after.get(key)
        if was is None or row is None:
            rows.append(_row("removed" if row is None else "added", new if row else old, row or was))
        elif _content(was) != _content(row):
            predicate = " → ".join(dict.fromkeys((was.predicate, row.predicate)))
            rows.append(_row("changed", new, row.model_copy(update={"predicate": predicate})))
    columns = ("", "table", "code", "label", "predicate", "concept", "who", "comment")
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    table = [*head, *rows] if rows else ["No row of a routing table is added, removed or changed."]
    lines = ("- " + _cell(line) for line in _lines(difference, THRESHOLD))
    return "\n".join(["### Routing", "", *table, "", "### Supervision", "", *lines])


def _by_key(onto: Ontology) -> dict[tuple[str, str, str | None], RoutingRow]:
    rows = (*onto.draft.mappings, *onto.draft.crosswalks)
    return {(row.table, row.code, row.node): row for row in rows}


def _content(row: RoutingRow) -> dict[str, object]:
    return row.model_dump(exclude={"place", "node_label"})


def _row(change: str, onto: Ontology, row: RoutingRow | None) -> str:
    assert row is not None
    node = onto.draft.abbreviation(row.node) if row.node else "none"
    who = " ".join(filter(None, (row.author or row.source, row.date)))
    cells = (change, row.table, row.code, row.label, row.predicate, node, who, row.reason)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Escape a text for a cell, so that it can't end the cell, form HTML or mention a user."""
    return plain_markdown(text).replace("@", "@\u200b")


def _lines(difference: Difference, threshold: float) -> Iterator[str]:
    if difference.empty:
        yield "no difference in supervision"
        yield from _without_effect(difference)
        return
    yield _summary(difference)
    yield from difference.enumeration
    pairs = difference.moved if threshold <= 0 else difference.moved[:_PAIRS]
    for pair in pairs:
        yield f"distance {pair.a} – {pair.b}: {pair.old} → {pair.new}"
    if more := len(difference.moved) - len(pairs):
        yield f"and {more} more distances"
    lists = {
        "changed rows of D": difference.rows,
        "yields under most-specific in only one ontology": difference.yields,
        "changed texts": difference.texts,
        "changed routes": difference.routes,
    }
    yield from (f"{title}: {', '.join(names)}" for title, names in lists.items() if names)
    listed = [code for code in difference.codes if _otherwise(code) or code.total_variation >= threshold]
    for code in listed:
        y = " → ".join("{" + ", ".join(leaves) + "}" for leaves in dict.fromkeys(code.y))
        primary = " → ".join(name or "none" for name in dict.fromkeys(code.primary))
        yield f"code {code.code}: leaves {y}, c* {primary}, total variation {code.total_variation:.4f}"
    if small := len(difference.codes) - len(listed):
        most = max(code.total_variation for code in difference.codes if code not in listed)
        yield f"and {small} code{'s' * (small > 1)} changed by at most {most:.4f}, with equal leaves and c*"
    if (records := difference.records) is not None:
        yield (
            f"records: {records.changed} of {records.records} have another target, "
            f"{records.primary_changed} have another c*. Total variation: "
            f"mean {records.mean_total_variation:.4f}, max {records.max_total_variation:.4f}"
        )
    yield from _without_effect(difference)


def _without_effect(difference: Difference) -> Iterator[str]:
    """Yield lines about changes that don't affect training, for example of crosswalks."""
    yield from (f"crosswalk {line}" for line in difference.crosswalks)
    yield from (f"official label of {line}" for line in difference.official)


def _otherwise(code: ChangedCode) -> bool:
    return code.y[0] != code.y[1] or code.primary[0] != code.primary[1]


def _summary(difference: Difference) -> str:
    parts = []
    for kind in ("node", "edge"):
        for sign, what in (("+", "new"), ("-", "gone")):
            if n := sum(line.startswith(f"{sign} {kind}") for line in difference.enumeration):
                parts.append(f"{_are(n, kind)} {what}")
    if difference.moved:
        parts.append(f"{_are(len(difference.moved), 'distance')} changed")
    parts.append(f"{_are(len(difference.routes), 'code')} routed otherwise")
    parts.append(f"{sum(map(_otherwise, difference.codes))} with other leaves or another c*")
    parts.append(f"{len(difference.codes)} with another target")
    return "; ".join(parts)


def _are(n: int, noun: str) -> str:
    return f"{n} {noun} is" if n == 1 else f"{n} {noun}s are"
