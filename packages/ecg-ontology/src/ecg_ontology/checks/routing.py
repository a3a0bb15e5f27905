"""Routing: codes, labels, and the closure of each row."""

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
    fix="Correct the code by its official source",
)
def _malformed_code(draft: Draft) -> Iterator[Breach]:
    for (_, code), rows in _by_code(draft).items():
        if problem := malformation(code):
            yield Breach(code, f"{code!r} isn't a code: {problem}", rows[0].where)


@ROUTING.rule(
    "CCG-E303",
    "A routed leaf brings its family, and no other",
    why='π has "one leaf and its parent root". With another root or none, families are miscounted.',
    fix="Add the row of the leaf's root, or remove the row of the other root",
)
def _family_closure(draft: Draft) -> Iterator[Breach]:
    tier = {concept.iri: concept.tier for concept in draft.concepts}
    family = draft.families
    for rows in _by_code(draft).values():
        nodes = [row.node for row in rows if row.node is not None and row.node in tier]
        roots = {node for node in nodes if tier[node] is Tier.root}
        families = {family[node] for node in nodes if tier[node] is Tier.leaf and node in family}
        if families and roots != families:
            given, due = _joined_names(draft, sorted(roots)), _joined_names(draft, sorted(families))
            yield breach(rows[0], f"names the families {given}; its leaves belong to {due}")


@ROUTING.rule(
    "CCG-E304",
    "The rows of one code agree",
    why="A code can't be both routed and unrouted, or have two labels.",
    fix="Keep one label, one regime and each node once",
)
def _contradicting_rows(draft: Draft) -> Iterator[Breach]:
    tiers = {concept.iri: concept.tier for concept in draft.concepts}
    for rows in _by_code(draft).values():
        nodes = [row.node for row in rows]
        if not {node for node in nodes if node is not None} <= tiers.keys():
            continue  # E302 reports missing nodes, without which a row can't be checked
        if None in nodes and len(nodes) > 1:
            problem = "is routed and unrouted at once" if any(nodes) else "is stated twice"
        elif len(set(nodes)) < len(nodes):
            problem = "names a node twice"
        elif len({row.label for row in rows}) > 1:
            problem = "has two labels"
        elif {row.regime for row in rows} != {(regime := regime_of(nodes, tiers))}:
            problem = f"should be of the regime {regime.value!r}"
        else:
            continue
        yield breach(rows[-1], problem)


@ROUTING.rule(
    "CCG-E305",
    "Labels agree with the official map",
    why="A wrong label hides a wrong route. The paper has four wrong labels.",
    fix="Copy the label from the official map, and review the route",
)
def _wrong_label(draft: Draft) -> Iterator[Breach]:
    for (table, code), rows in _by_code(draft).items():
        official = draft.official.get(code)
        if table != "paper" and official is not None and rows[0].label != official:
            yield breach(rows[0], f"is labelled {rows[0].label!r}; officially {official!r}")


@ROUTING.rule(
    "CCG-E306",
    "Every code of the official map has a decision",
    why="A code without a row would be ignored without a reason.",
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
    why="Rows kept as printed reproduce the paper, but supervise concepts that the code doesn't name.",
    fix="Use --profile curated unless you reproduce the paper",
)
def _printed_otherwise(draft: Draft) -> Iterator[Breach]:
    tables = _by_code(draft)
    for (table, code), rows in sorted(tables.items()):
        if table != "paper":
            continue
        curated = tables.get(("curated", code)) or tables.get((BASE_TABLE, code), [])
        label = curated[0].label if curated else "no code of the map"
        names = [_joined_names(draft, [row.node for row in some if row.node]) for some in (rows, curated)]
        if names[0] != names[1]:
            message = (
                f"the paper prints {code} as {rows[0].label!r} → {names[0]}; "
                f"officially it is {label!r}, curated as {names[1]}"
            )
            yield Breach(code, message, rows[0].where)


def _joined_names(draft: Draft, iris: Iterable[str]) -> str:
    return "{" + ", ".join(draft.abbreviation(iri) for iri in iris) + "}"
