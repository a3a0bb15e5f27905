"""Rules of routing, the assignment of codes to concepts: codes, labels, and the family of each finding."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ecg_ontology.checks.mappings import DECISIVE, MAPPINGS, breach
from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.checks.table_heads import TABLES
from ecg_ontology.graph.concepts import Tier
from ecg_ontology.graph.drafts import BASE_TABLE, Draft, RoutingRow
from ecg_ontology.graph.routing import malformation, regime_of

ROUTING: Chapter[Draft] = Chapter("Routing", DECISIVE, MAPPINGS, TABLES)
PROFILE_DIFFERENCE = "CCG-W310"

Rows = list[RoutingRow]


def _by_code(draft: Draft) -> dict[tuple[str, str], Rows]:
    rows: dict[tuple[str, str], Rows] = defaultdict(list)
    for row in draft.mappings:
        rows[row.table, row.code].append(row)
    return rows


@ROUTING.rule(
    "CCG-E301",
    "Every code is well formed",
    why="SNOMED CT identifiers end in a check digit, which reveals mistyped codes.",
    fix="Correct the code according to its official source",
)
def _malformed_code(draft: Draft) -> Iterator[Breach]:
    for (_, code), rows in _by_code(draft).items():
        if problem := malformation(code):
            yield Breach(code, f"{code!r} isn't a code: {problem}", rows[0].where)


@ROUTING.rule(
    "CCG-E303",
    "A code routed to leaves is also routed to their roots, and to no other root",
    why="With a missing or wrong root, families are miscounted.",
    fix="Add a row for the root of the leaf, or remove the row of the wrong root",
)
def _family_closure(draft: Draft) -> Iterator[Breach]:
    tier = {concept.iri: concept.tier for concept in draft.concepts}
    family = draft.families
    for rows in _by_code(draft).values():
        nodes = [row.node for row in rows if row.node is not None and row.node in tier]
        roots = {node for node in nodes if tier[node] is Tier.root}
        families = {family[node] for node in nodes if tier[node] is Tier.leaf and node in family}
        if families and roots != families:
            found, expected = _joined_names(draft, sorted(roots)), _joined_names(draft, sorted(families))
            yield breach(rows[0], f"must reach the families {expected} of its leaves, got {found}")


@ROUTING.rule(
    "CCG-E304",
    "The rows of a code are consistent",
    why="A code can't be both routed and unrouted, or have two labels.",
    fix="Keep a single label, the regime that fits the rows, and each concept once",
)
def _contradicting_rows(draft: Draft) -> Iterator[Breach]:
    tiers = {concept.iri: concept.tier for concept in draft.concepts}
    for rows in _by_code(draft).values():
        nodes = [row.node for row in rows]
        if not {node for node in nodes if node is not None} <= tiers.keys():
            continue  # E302 reports missing nodes
        if None in nodes and len(nodes) > 1:
            problem = "has routed and unrouted rows" if any(nodes) else "has two unrouted rows"
        elif len(set(nodes)) < len(nodes):
            problem = "has two rows with the same node"
        elif len({row.label for row in rows}) > 1:
            problem = "has two labels"
        elif {row.regime for row in rows} != {(regime := regime_of(nodes, tiers))}:
            problem = f"must have the regime {regime.value!r}"
        else:
            continue
        yield breach(rows[-1], problem)


@ROUTING.rule(
    "CCG-E305",
    "Labels agree with the official map",
    why="A wrong label hides a wrong route. Four labels in the paper are wrong.",
    fix="Copy the label from the official map, and review the route",
)
def _wrong_label(draft: Draft) -> Iterator[Breach]:
    for (table, code), rows in _by_code(draft).items():
        official = draft.official.get(code)
        if table != "paper" and official is not None and rows[0].label != official:
            yield breach(rows[0], f"must have the official label {official!r}, got {rows[0].label!r}")


@ROUTING.rule(
    "CCG-E306",
    "Every code of the official map has a decision",
    why="Without a row, the code would be ignored without a reason.",
    fix="Add a row to routing.sssom.tsv, with a concept or sssom:NoTermFound and a reason",
)
def _undecided_code(draft: Draft) -> Iterator[Breach]:
    decided = {row.code for row in draft.mappings if row.table == BASE_TABLE}
    for code, label in draft.official.items():
        if code not in decided:
            yield Breach(code, f"{code} ({label}) has no row")


@ROUTING.rule(
    "CCG-E307",
    "An unrouted code has a reason",
    why="Users want to know why a record has no target.",
    fix="Write the reason into the comment column",
)
def _unexplained_code(draft: Draft) -> Iterator[Breach]:
    for row in draft.mappings:
        if row.node is None and not row.reason.strip():
            yield breach(row, f"({row.label}) is unrouted without a reason")


@ROUTING.rule(
    PROFILE_DIFFERENCE,
    "The paper's rows follow the official labels",
    why="Rows as printed reproduce the paper, but train concepts that don't match the code.",
    fix="Use --profile curated unless you reproduce the paper",
)
def _printed_otherwise(draft: Draft) -> Iterator[Breach]:
    tables = _by_code(draft)
    for (table, code), rows in sorted(tables.items()):
        if table != "paper":
            continue
        curated = tables.get(("curated", code)) or tables.get((BASE_TABLE, code), [])
        label = curated[0].label if curated else "no code of the map"
        printed_names, curated_names = (
            _joined_names(draft, [row.node for row in table_rows if row.node])
            for table_rows in (rows, curated)
        )
        if printed_names != curated_names:
            message = (
                f"the paper prints {code} as {rows[0].label!r} → {printed_names}, "
                f"but the official label is {label!r}, curated as {curated_names}"
            )
            yield Breach(code, message, rows[0].where)


def _joined_names(draft: Draft, iris: Iterable[str]) -> str:
    return "{" + ", ".join(draft.abbreviation(iri) for iri in iris) + "}"
