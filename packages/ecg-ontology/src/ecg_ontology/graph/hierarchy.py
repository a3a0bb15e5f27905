"""Traverse the hierarchy of concepts: ancestors, descendants and trees.

The IS_A relations are `family` and `subtypeOf`. A manifestation is not a descendant of its condition, because
it isn't a kind of this condition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ecg_ontology.graph.concepts import Concept, Kind, Relation

if TYPE_CHECKING:
    from ecg_ontology.graph.drafts import Draft

NodeT = TypeVar("NodeT", int, str)
IS_A = (Kind.family, Kind.subtype_of)


class TreeLine(NamedTuple):
    """Line of a tree. `again` is true if the children of the concept are listed in an earlier line."""

    depth: int
    concept: Concept
    again: bool


def steps(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Group pairs (source, target) by source, and return the targets of each source."""
    steps: dict[int, list[int]] = {}
    for source, target in pairs:
        steps.setdefault(source, []).append(target)
    return steps


def reachable(starts: Iterable[NodeT], steps: Mapping[NodeT, Iterable[NodeT]]) -> tuple[NodeT, ...]:
    """Return `starts` and all concepts that `steps` (targets by source) reach from them, nearest first."""
    reached: dict[NodeT, Any] = dict.fromkeys(starts)
    level = list(reached)
    while level:
        level = sorted({target for source in level for target in steps.get(source, ())} - reached.keys())
        reached.update(dict.fromkeys(level))
    return tuple(reached)


def branches(
    nodes: Sequence[Concept], relations: Sequence[Relation], tops: Sequence[int]
) -> Iterator[TreeLine]:
    """Yield the lines of the trees under the concepts with the indices `tops`.

    Subtypes are listed only under their parents, not also under their family. A concept with several parents
    is listed under each parent. Its descendants are listed only once, under the first parent.

    Example:
        >>> import ecg_ontology
        >>> onto = ecg_ontology.load()
        >>> [(line.depth, line.concept.abbr) for line in branches(onto.nodes, onto.relations, [0])]
        [(0, 'Normal'), (1, 'NSR'), (1, 'EarlyR'), (1, 'SinusA')]
    """
    subtypes = {edge.source for edge in relations if edge.kind is Kind.subtype_of}
    children = steps(
        (edge.target, edge.source)
        for edge in relations
        if edge.kind is Kind.subtype_of or (edge.kind is Kind.family and edge.source not in subtypes)
    )
    visited: set[int] = set()
    stack = [(0, index) for index in reversed(tops)]
    while stack:
        depth, index = stack.pop()
        yield TreeLine(depth, nodes[index], index in visited and index in children)
        if index not in visited:
            stack += [(depth + 1, child) for child in sorted(children.get(index, ()), reverse=True)]
        visited.add(index)


def broader(draft: "Draft") -> dict[str, tuple[str, ...]]:
    """Return the direct superclasses of each concept by IRI, for exports with formal semantics.

    The superclasses of a subtype are its parents. The superclass of any other finding is its family. The
    superclasses of a concept with `either_parent` are the nearest common ancestors of its parents, because
    the concept isn't a kind of both parents.
    """
    above: dict[Kind, dict[str, list[str]]] = {kind: {} for kind in IS_A}
    for relation in draft.relations:
        if relation.kind in IS_A:
            above[relation.kind].setdefault(relation.subject, []).append(relation.object)
    upwards = {
        iri: (*above[Kind.subtype_of].get(iri, ()), *above[Kind.family].get(iri, ()))
        for iri in {iri for ends in above.values() for iri in ends}
    }
    tree: dict[str, tuple[str, ...]] = {}
    for concept in draft.concepts:
        parents = above[Kind.subtype_of].get(concept.iri) or above[Kind.family].get(concept.iri, [])
        if concept.either_parent and len(parents) > 1:
            shared = set.intersection(*(set(reachable([parent], upwards)[1:]) for parent in parents))
            further = {iri for ancestor in shared for iri in reachable([ancestor], upwards)[1:]}
            parents = [iri for iri in shared if iri not in further]
        tree[concept.iri] = tuple(sorted(dict.fromkeys(parents)))
    return tree
