"""The concepts as a tree: families, and subtypes under their parents."""

from collections.abc import Iterator
from typing import NamedTuple

from ecg_ontology.concepts import Concept, Kind
from ecg_ontology.vocabulary import Vocabulary


class Branch(NamedTuple):
    """One line of a tree: how deep it stands, its concept, and whether what is below was listed before."""

    depth: int
    concept: Concept
    again: bool


def branches(onto: Vocabulary, top: int | None = None) -> Iterator[Branch]:
    """Yield the tree under `top`, or under every root; subtypes stand under their parents only.

    A concept of several parents stands under each, and what is below it only under the first.

    Example:
        >>> import ecg_ontology
        >>> [(line.depth, line.concept.abbr) for line in branches(ecg_ontology.load(), 0)]
        [(0, 'Normal'), (1, 'NSR'), (1, 'EarlyR'), (1, 'SinusA')]
    """
    children: dict[int, list[int]] = {node.index: [] for node in onto.nodes}
    subtypes = {edge.source for edge in onto.relations if edge.kind is Kind.subtype_of}
    for edge in onto.relations:
        if edge.kind is Kind.subtype_of or (edge.kind is Kind.family and edge.source not in subtypes):
            children[edge.target].append(edge.source)
    seen: set[int] = set()
    stack = [(0, index) for index in reversed(onto.roots if top is None else (top,))]
    while stack:
        depth, index = stack.pop()
        yield Branch(depth, onto.nodes[index], index in seen and bool(children[index]))
        if index not in seen:
            stack += [(depth + 1, child) for child in sorted(children[index], reverse=True)]
        seen.add(index)
