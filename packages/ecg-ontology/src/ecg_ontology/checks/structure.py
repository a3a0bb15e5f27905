"""Rules of structure: indices, tiers (root or leaf) and names of concepts, families, edges, whole graph.

The rules check drafts, the unchecked content of an ontology's files.
"""

from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ecg_ontology.checks.rule import Breach, Chapter
from ecg_ontology.graph.concepts import Kind, Tier
from ecg_ontology.graph.drafts import MISSTATED_INDEX, Draft, DraftConcept, DraftRelation
from ecg_ontology.graph.hierarchy import reachable

STRUCTURE: Chapter[Draft] = Chapter("Structure")
"""Rules that a draft must keep to be built as an ontology."""

_BETWEEN_LEAVES = (Kind.subtype_of, Kind.manifestation_of, Kind.sibling)
_ENDS = {
    Kind.family: (Tier.leaf, Tier.root),
    Kind.ring: (Tier.root, Tier.root),
    **dict.fromkeys(_BETWEEN_LEAVES, (Tier.leaf, Tier.leaf)),
}


@STRUCTURE.rule(
    "CCG-E001",
    "Every index belongs to one concept",
    why="The index is a column of y and a row of D. Two concepts with the same index would share their "
    "training targets.",
    fix="Give the newer concept the next free index at the end",
)
def _duplicate_index(draft: Draft) -> Iterator[Breach]:
    holders: dict[int | None, list[DraftConcept]] = defaultdict(list)
    for concept in draft.concepts:
        holders[concept.index].append(concept)
    for index in sorted(index for index in holders if index is not None):
        if len(concepts := holders[index]) > 1:
            names = ", ".join(draft.abbreviation(concept.iri) for concept in concepts)
            yield Breach(names, f"index {index} must belong to one concept, got {names}", concepts[-1].place)


@STRUCTURE.rule(
    "CCG-E002",
    "The indices run from 0 without a gap",
    why="A gap means that a concept was lost or renumbered.",
    fix="Restore the missing concept, or retire it in place. Never reuse an index",
)
def _index_gap(draft: Draft) -> Iterator[Breach]:
    indices = {concept.index for concept in draft.concepts if concept.index is not None}
    if len(indices) < len(draft.concepts):
        return  # E003 and E001 report missing and duplicate indices
    for before, after in pairwise([-1, *sorted(index for index in indices if index >= 0)]):
        if after - before > 1:
            name = f"index {before + 1}" if after - before == 2 else f"indices {before + 1} to {after - 1}"
            yield Breach(name, f"no concept has {name}, but higher indices are in use")
    for index in sorted(index for index in indices if index < 0):
        yield Breach(f"index {index}", f"index {index} must not be negative")


@STRUCTURE.rule(
    "CCG-E003",
    "Every concept states its tier, index, abbreviation and label",
    why="Commands, messages and y need all four.",
    fix="Add the missing statement",
)
def _incomplete_concept(draft: Draft) -> Iterator[Breach]:
    misstated = {
        misstatement.subject
        for misstatement in draft.misstatements
        if misstatement.problem.startswith(MISSTATED_INDEX)
    }
    for concept in draft.concepts:
        stated = {
            "tier (ccg:Root or ccg:Leaf)": concept.tier,
            "ccg:index": "misstated" if concept.iri in misstated else concept.index,
            "skos:notation": concept.abbr.strip() or None,
            "skos:prefLabel in English": concept.label.strip() or None,
        }
        if missing := [name for name, value in stated.items() if value is None]:
            name = draft.abbreviation(concept.iri)
            yield Breach(name, f"{name} has no {', no '.join(missing)}", concept.place)


@STRUCTURE.rule(
    "CCG-E004",
    "Every abbreviation belongs to one concept",
    why="Commands and messages name concepts by abbreviation.",
    fix="Rename a concept",
)
def _shared_abbreviation(draft: Draft) -> Iterator[Breach]:
    first: dict[str, DraftConcept] = {}
    for concept in draft.concepts:
        other = first.setdefault(concept.abbr, concept)
        if concept.abbr and other is not concept:
            message = f"{concept.abbr} names index {other.index} and index {concept.index}"
            yield Breach(concept.abbr, message, concept.place)


@STRUCTURE.rule(
    "CCG-E015",
    "Every statement is unambiguous",
    why="With two labels or indices, the choice would be arbitrary. A misspelt property has no effect.",
    fix="Keep the right statement, and spell its property as in the vocabulary",
)
def _misstatement(draft: Draft) -> Iterator[Breach]:
    for misstatement in draft.misstatements:
        name = draft.abbreviation(misstatement.subject)
        yield Breach(name, f"{name} {misstatement.problem}", misstatement.place)


def resolved(draft: Draft, *kinds: Kind) -> list[DraftRelation]:
    """Return the relations of the given kinds (default: all) whose two concepts are in the draft."""
    concepts = draft.by_iri
    chosen = (edge for edge in draft.relations if edge.kind in (kinds or tuple(Kind)))
    return [edge for edge in chosen if edge.subject in concepts and edge.object in concepts]


def _families(draft: Draft) -> dict[str, list[str]]:
    families: dict[str, list[str]] = defaultdict(list)
    for relation in resolved(draft, Kind.family):
        families[relation.subject].append(relation.object)
    return families


@STRUCTURE.rule(
    "CCG-E005",
    "Every leaf has exactly one family",
    why="Routing adds the root of each leaf, so each leaf must have a single root.",
    fix="State a single ccg:family, under which the leaf is counted",
)
def _family_count(draft: Draft) -> Iterator[Breach]:
    families = _families(draft)
    for concept in draft.concepts:
        roots = families[concept.iri]
        if concept.tier is Tier.leaf and len(roots) != 1:
            name = draft.abbreviation(concept.iri)
            names = " and ".join(draft.abbreviation(root) for root in roots) or "none"
            yield Breach(name, f"leaf {name} must have one family, got {names}", concept.place)


@STRUCTURE.rule(
    "CCG-E006",
    "Every relation joins the right tiers",
    why="A family or ring edge to a leaf would change D unexpectedly.",
    fix="Use another kind of relation, or correct a concept in it",
)
def _wrong_tier(draft: Draft) -> Iterator[Breach]:
    for relation in resolved(draft):
        ends = (draft.by_iri[relation.subject].tier, draft.by_iri[relation.object].tier)
        if None not in ends and ends != _ENDS[relation.kind]:
            expected = " → ".join(_ENDS[relation.kind])
            stated = " → ".join(str(end) for end in ends)
            yield _breach(draft, relation, f"must join {expected}, got {stated}")


@STRUCTURE.rule(
    "CCG-E007",
    "Every relation joins two concepts",
    why="A relation to an unknown concept is usually a misspelt name.",
    fix="Correct the name, or define the concept",
)
def _dangling_relation(draft: Draft) -> Iterator[Breach]:
    for relation in draft.relations:
        for end in (relation.subject, relation.object):
            if end not in draft.by_iri:
                yield _breach(draft, relation, f"must join concepts of the graph, got {end}")


@STRUCTURE.rule(
    "CCG-E008",
    "No concept is related to itself",
    why="The adjacency A has no self-loops. Only Â adds them.",
    fix="Remove the relation, or correct its object",
)
def _self_loop(draft: Draft) -> Iterator[Breach]:
    for relation in draft.relations:
        if relation.subject == relation.object:
            yield _breach(draft, relation, "is a self-loop")


@STRUCTURE.rule(
    "CCG-E009",
    "Symmetric relations are stated from both ends",
    why="The entry of each concept must list all its siblings. A missing half is usually an unfinished edit.",
    fix="Also state the relation at the other concept, or remove it here",
)
def _one_sided(draft: Draft) -> Iterator[Breach]:
    stated = {(r.kind, r.subject, r.object) for r in draft.relations}
    for relation in resolved(draft):
        mirrored = (relation.kind, relation.object, relation.subject)
        if relation.kind.symmetric and mirrored not in stated:
            yield _breach(draft, relation, f"is not stated at {draft.abbreviation(relation.object)}")


@STRUCTURE.rule(
    "CCG-E010",
    "No concept is a subtype of itself, directly or indirectly",
    why="The rule most-specific needs the length of the paths to more general leaves.",
    fix="Remove one relation of the cycle",
)
def _subtype_cycle(draft: Draft) -> Iterator[Breach]:
    parents: dict[str, dict[str, DraftRelation]] = defaultdict(dict)
    for relation in resolved(draft, Kind.subtype_of):
        if relation.subject != relation.object:
            parents[relation.subject][relation.object] = relation
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]  # from each subtype to its parent
        path = " → ".join(map(draft.abbreviation, cycle))
        place = parents[cycle[0]][cycle[1]].place
        yield Breach(draft.abbreviation(cycle[0]), f"subtypeOf must not form a cycle, got {path}", place)


@STRUCTURE.rule(
    "CCG-E011",
    "Every concept is connected to all concepts, or, in a graph without a ring, to its family",
    why="Between unconnected concepts, D is only a convention (largest distance + 1). Only a graph "
    "without a ring may rely on it.",
    fix="Add the missing family or ring relation",
)
def _disconnected(draft: Draft) -> Iterator[Breach]:
    neighbours: dict[str, set[str]] = {concept.iri: set() for concept in draft.concepts}
    for relation in resolved(draft):
        neighbours[relation.subject].add(relation.object)
        neighbours[relation.object].add(relation.subject)
    if not neighbours:
        yield Breach("graph", "the graph must have at least one concept")
        return
    forest = not resolved(draft, Kind.ring)
    starts = [concept.iri for concept in draft.concepts if concept.tier is Tier.root] if forest else []
    reached = set(reachable(starts or [draft.concepts[0].iri], neighbours))
    unconnected = [draft.abbreviation(iri) for iri in neighbours if iri not in reached]
    if unconnected:
        start = "a family" if starts else draft.abbreviation(draft.concepts[0].iri)
        yield Breach(unconnected[0], f"no path leads from {start} to {', '.join(unconnected)}")


@STRUCTURE.rule(
    "CCG-E012",
    "A subtype, manifestation or sibling of a leaf is in the leaf's family",
    why="The paper's distances assume that leaves of different families meet only through their roots.",
    fix="Correct the family of a concept, or remove the relation",
)
def _cross_family(draft: Draft) -> Iterator[Breach]:
    families = _families(draft)
    for relation in resolved(draft, *_BETWEEN_LEAVES):
        first, second = families[relation.subject], families[relation.object]
        if first and second and not set(first) & set(second):
            between = " and ".join(draft.abbreviation(family[0]) for family in (first, second))
            yield _breach(draft, relation, f"joins the families {between}")


@STRUCTURE.rule(
    "CCG-W013",
    "The roots form one ring",
    why="The ring bounds D: the distance of two leaves is at most 2 + half the number of families.",
    fix="Join each root to the previous and the next root with ccg:ring",
)
def _broken_ring(draft: Draft) -> Iterator[Breach]:
    roots = [concept for concept in draft.concepts if concept.tier is Tier.root]
    neighbours: dict[str, set[str]] = {root.iri: set() for root in roots}
    for relation in resolved(draft, Kind.ring):
        if {relation.subject, relation.object} <= neighbours.keys():
            neighbours[relation.subject] |= {relation.object} - {relation.subject}
            neighbours[relation.object] |= {relation.subject} - {relation.object}
    expected = min(len(roots) - 1, 2)
    for root in roots:
        if len(neighbours[root.iri]) != expected:
            name = draft.abbreviation(root.iri)
            names = ", ".join(sorted(draft.abbreviation(iri) for iri in neighbours[root.iri])) or "none"
            message = f"root {name} must have {expected} neighbours on the ring, got {names}"
            yield Breach(name, message, root.place)


@STRUCTURE.rule(
    "CCG-W014",
    "A subtype has a higher index than its parent",
    why="The rule max-index selects the highest index, so it would prefer the parent to its subtype.",
    fix="Append new subtypes at the end, or use the rule most-specific",
)
def _subtype_before_parent(draft: Draft) -> Iterator[Breach]:
    for relation in resolved(draft, Kind.subtype_of):
        below, above = draft.by_iri[relation.subject].index, draft.by_iri[relation.object].index
        if below is not None and above is not None and below < above:
            yield _breach(draft, relation, f"must have a higher index than its parent ({above}), got {below}")


def _breach(draft: Draft, relation: DraftRelation, problem: str) -> Breach:
    """Return the breach of a rule by a relation. Its message starts with the relation: "AF family Rhythm"."""
    name = f"{draft.abbreviation(relation.subject)} {relation.kind} {draft.abbreviation(relation.object)}"
    return Breach(name, f"{name} {problem}", relation.place)
