"""The hierarchy: what lies above and below a concept, and the concepts as a tree.

`family` and `subtypeOf` are IS_A. A manifestation shows its condition and isn't a kind of it: it is never a
descendant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ecg_ontology.concepts import Concept, Kind, Relation

NodeT = TypeVar("NodeT", int, str)
IS_A = (Kind.family, Kind.subtype_of)


class TreeLine(NamedTuple):
    """One line of a tree: its depth, its concept, and whether what is below was listed before."""

    depth: int
    concept: Concept
    again: bool


def steps(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return where one step leads from each."""
    steps: dict[int, list[int]] = {}
    for near, far in pairs:
        steps.setdefault(near, []).append(far)
    return steps


def reachable(starts: Iterable[NodeT], steps: Mapping[NodeT, Iterable[NodeT]]) -> tuple[NodeT, ...]:
    """Return the starts and everything that steps lead to, level by level, each level in order."""
    reached: dict[NodeT, Any] = dict.fromkeys(starts)
    level = list(reached)
    while level:
        level = sorted({far for near in level for far in steps.get(near, ())} - reached.keys())
        reached.update(dict.fromkeys(level))
    return tuple(reached)


def branches(
    nodes: Sequence[Concept], relations: Sequence[Relation], tops: Sequence[int]
) -> Iterator[TreeLine]:
    """Yield the trees under `tops`; subtypes stand under their parents only.

    A concept of several parents stands under each, and what is below it only under the first.

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
    seen: set[int] = set()
    stack = [(0, index) for index in reversed(tops)]
    while stack:
        depth, index = stack.pop()
        yield TreeLine(depth, nodes[index], index in seen and index in children)
        if index not in seen:
            stack += [(depth + 1, child) for child in sorted(children.get(index, ()), reverse=True)]
        seen.add(index)
