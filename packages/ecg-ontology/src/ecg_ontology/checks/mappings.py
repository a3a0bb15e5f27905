"""Rules of the rows of routing tables, which assign codes to concepts.

The rules concern the concept and the code of a row, its SSSOM terms, and the table that may contain the row.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from ecg_ontology.base.text_folding import fold
from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.graph.concepts import Kind, Tier
from ecg_ontology.graph.drafts import Draft, DraftConcept, RoutingRow
from ecg_ontology.graph.routing import PROFILES

DECISIVE: Chapter[Draft] = Chapter("Routing")
"""Rules without which a code would be routed wrongly. A draft that breaks them can't be built."""
MAPPINGS: Chapter[Draft] = Chapter("Mappings")

PREDICATES = tuple(f"skos:{relation}Match" for relation in ("exact", "close", "broad", "narrow", "related"))
JUSTIFICATIONS = frozenset(
    f"semapv:{process}"
    for process in re.findall(
        r"\w+",
        "BackgroundKnowledgeBasedMatching CompositeMatching InstanceBasedMatching LexicalMatching "
        "LexicalSimilarityThresholdMatching LogicalReasoning ManualMappingCuration MappingChaining "
        "MappingInversion MappingReview SemanticSimilarityThresholdMatching StructuralMatching "
        "UnspecifiedMatching",
    )
)


@DECISIVE.rule(
    "CCG-E302",
    "Every row leads to a concept of the graph or to sssom:NoTermFound",
    why="A code with a misspelt concept would give no training target.",
    fix="Correct the object_id, or define the concept",
)
def _unknown_node(draft: Draft) -> Iterator[Breach]:
    for row in (*draft.mappings, *draft.crosswalks):
        if row.node is not None and row.node not in draft.by_iri:
            yield breach(row, f"must be routed to a concept of the graph, got {row.node}")


@DECISIVE.rule(
    "CCG-E308",
    "A code is in only one table",
    why="The rows of both tables would be combined, and their curators might not notice.",
    fix="Keep the rows in one table. Only the table of a profile (paper, curated) replaces rows of others",
)
def _scattered_code(draft: Draft) -> Iterator[Breach]:
    tables: dict[str, dict[str, RoutingRow]] = defaultdict(dict)
    for row in draft.mappings:
        if row.table not in PROFILES:
            tables[row.code].setdefault(row.table, row)
    for code, rows in tables.items():
        if len(rows) > 1:
            names = " and ".join(f"{row.table} ({row.label!r})" for row in rows.values())
            yield Breach(code, f"{code} is in the tables {names}", list(rows.values())[-1].where)


@DECISIVE.rule(
    "CCG-E309",
    "Every row states the relation of code and concept",
    why="A row that negates a mapping, or has an unknown predicate, would be routed like any other row.",
    fix="Use a predicate of SKOS (exact-, close-, broad-, narrow- or relatedMatch), or remove the row",
)
def _no_relation(draft: Draft) -> Iterator[Breach]:
    for row in draft.mappings:
        if row.modifier:
            yield breach(row, f"must have no predicate_modifier, got {row.modifier!r}")
        if row.predicate not in PREDICATES:
            yield breach(row, f"must have a SKOS predicate, got {row.predicate!r}")


@MAPPINGS.rule(
    "CCG-E310",
    "Every row states how it was made",
    why="Reviewers must be able to distinguish a clinician's decision from a program's guess.",
    fix="Use a term of the vocabulary SEMAPV, such as semapv:ManualMappingCuration",
)
def _unknown_justification(draft: Draft) -> Iterator[Breach]:
    for row in draft.mappings:
        if row.justification not in JUSTIFICATIONS:
            yield breach(row, f"must have a SEMAPV term as mapping_justification, got {row.justification!r}")


@MAPPINGS.rule(
    "CCG-E311",
    "The object_label of a row is a name of its concept",
    why="Reviewers read labels, so a wrong label hides a wrong object_id.",
    fix="Correct the object_id, or copy the label from the graph",
)
def _contradicting_node_label(draft: Draft) -> Iterator[Breach]:
    for row in draft.mappings:
        concept = draft.by_iri.get(row.node or "")
        if concept is None or not row.node_label:
            continue
        if fold(row.node_label) not in _folded_names(concept):
            message = f"must name the node {concept.abbr} {concept.label!r}, got {row.node_label!r}"
            yield breach(row, message)


@MAPPINGS.rule(
    "CCG-E312",
    "A code with the name of a concept reaches this concept",
    why="Otherwise its records would be trained as another concept.",
    fix="Correct the object_id. Use broadMatch for a wider leaf",
)
def _foreign_name(draft: Draft) -> Iterator[Breach]:
    owners: dict[str, set[str]] = defaultdict(set)
    for concept in draft.concepts:
        for name in _folded_names(concept):
            owners[name].add(concept.iri)
    wider: dict[str, set[str]] = defaultdict(set)
    for relation in draft.relations:
        if relation.kind is Kind.subtype_of:
            wider[relation.subject].add(relation.object)
    reached: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for row in draft.mappings:
        reached[row.table, row.code].add(row.node)
    for row in draft.mappings:
        labelled = owners.get(fold(row.label), set())
        if not labelled or not row.node or labelled & reached[row.table, row.code]:
            continue
        exact = row.predicate == "skos:exactMatch"
        broad = row.predicate == "skos:broadMatch" and any(row.node in wider[iri] for iri in labelled)
        node = draft.by_iri.get(row.node)
        if exact or (node is not None and node.tier is Tier.leaf and not broad):
            names = ", ".join(sorted(map(draft.abbreviation, labelled)))
            relation_name = f"a{'n' * exact} {row.predicate.removeprefix('skos:')}"
            reached_name = draft.abbreviation(row.node)
            yield breach(
                row, f"({row.label}) is {relation_name} of {reached_name}, but has the name of {names}"
            )


@MAPPINGS.rule(
    "CCG-W317",
    "No code is routed to a narrower leaf",
    why="narrowMatch means that the code is wider than the leaf, but its records are trained as the leaf.",
    fix="Route the code to the family, or to a leaf that is as wide as the code",
)
def _narrower_leaf(draft: Draft) -> Iterator[Breach]:
    leaves = {concept.iri for concept in draft.concepts if concept.tier is Tier.leaf}
    for row in draft.mappings:
        if row.predicate == "skos:narrowMatch" and row.node in leaves:
            leaf = draft.abbreviation(row.node or "")
            yield breach(row, f"({row.label}) is wider than {leaf}, but is routed to it")


@MAPPINGS.rule(
    "CCG-W314",
    "An exact match shares a word with its concept",
    why="A synonym is possible, but a wrong object_id is more likely.",
    fix="Compare label and concept. For a synonym, add the label as skos:altLabel",
)
def _wordless_exact_match(draft: Draft) -> Iterator[Breach]:
    words: dict[str, set[str]] = {}
    for row in draft.mappings:
        concept = draft.by_iri.get(row.node or "")
        if row.predicate != "skos:exactMatch" or not row.label or concept is None:
            continue
        if concept.iri not in words:
            texts = (*_folded_names(concept), *map(fold, concept.variants))
            words[concept.iri] = {word for text in texts for word in text.split()}
        if words[concept.iri].isdisjoint(fold(row.label).split()):
            yield breach(row, f"({row.label}) shares no word with {draft.abbreviation(concept.iri)}")


@MAPPINGS.rule(
    "CCG-E313",
    "No code is routed to a retired concept",
    why="A retired concept (owl:deprecated) keeps its index, and no code may reach it.",
    fix="Route the code to the replacing concept, or to sssom:NoTermFound",
)
def _retired_node(draft: Draft) -> Iterator[Breach]:
    retired = {concept.iri for concept in draft.concepts if concept.deprecated}
    for row in draft.mappings:
        if row.node in retired:
            yield breach(row, f"is routed to {draft.abbreviation(row.node)}, which is retired")


@MAPPINGS.rule(
    "CCG-W315",
    "Every table and graph in the folder is read",
    why="A table or graph with an unexpected file name is ignored.",
    fix="Name the table routing.NAME.sssom.tsv, give the graph a lower-case ending, or move the "
    "file elsewhere",
)
def _unread_table(draft: Draft) -> Iterator[Breach]:
    for name in draft.unread:
        is_table = "sssom" in name.lower() or name.lower().startswith("routing")
        yield Breach(
            name, f"{name} looks like a {'routing table' if is_table else 'graph'} but isn't read", name
        )


def breach(row: RoutingRow, problem: str) -> Breach:
    """Return the breach of a rule by a row of a routing table. The subject of the breach is the code."""
    return Breach(row.code, f"{row.code} {problem}", row.where)


def _folded_names(concept: DraftConcept) -> set[str]:
    further = (variant.text for variant in (*concept.translations, *concept.synonyms))
    return {fold(text) for text in (concept.label, concept.abbr, *further)}
