"""What lies above and below a concept by IS_A, which `family` and `subtypeOf` are.

A manifestation shows its condition and isn't a kind of it, so it is never a descendant.
"""

from collections.abc import Iterable

from ecg_ontology.concepts import Kind, Relation

_IS_A = (Kind.family, Kind.subtype_of)


def above(relations: Iterable[Relation], index: int) -> tuple[int, ...]:
    """Return the ancestors of a concept, the nearest first, each level by index."""
    return _reach(index, ((edge.source, edge.target) for edge in relations if edge.kind in _IS_A))


def below(relations: Iterable[Relation], index: int) -> tuple[int, ...]:
    """Return the descendants of a concept, the nearest first, each level by index."""
    return _reach(index, ((edge.target, edge.source) for edge in relations if edge.kind in _IS_A))


def _reach(start: int, steps: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Everything that steps lead to from `start`, level by level, each level by index."""
    onward: dict[int, list[int]] = {}
    for near, far in steps:
        onward.setdefault(near, []).append(far)
    reached: dict[int, None] = {start: None}
    level = [start]
    while level:
        level = sorted({far for near in level for far in onward.get(near, ())} - reached.keys())
        reached.update(dict.fromkeys(level))
    return tuple(reached)[1:]
