"""Patterns of findings: terms of a sentence, and the concepts that they name together."""

from functools import cache
from typing import NamedTuple

from ecg_ontology.statements.lexicon import table_rows


class Pattern(NamedTuple):
    """Finding: its terms, and its concepts."""

    terms: tuple[frozenset[str], ...]
    concepts: tuple[tuple[str, ...], ...]


@cache
def patterns() -> dict[str, tuple[Pattern, ...]]:
    """Return the tables' findings by their first term."""
    table: dict[str, list[Pattern]] = {}
    for terms, concepts in table_rows("findings.tsv"):
        sets = tuple(frozenset(term.split("|")) for term in terms.split())
        chains = tuple(tuple(chain.split(">")) for chain in concepts.split("+"))
        for first in sets[0]:
            table.setdefault(first, []).append(Pattern(sets, chains))
    return {first: tuple(chains) for first, chains in table.items()}


WALLS = {
    "ANTERIOR": ("AntMI",),
    "INFERIOR": ("InfMI",),
    "LATERAL": ("LatMI", "Ischemic"),
    "POSTERIOR": ("PostMI", "Ischemic"),
    "SEPTAL": ("SepMI", "AntMI"),
}
"""The concepts that carry an infarction of a wall, to be tried in turn."""


def chain_of(name: str) -> tuple[str, ...]:
    """Return the alternative concepts of a finding, in order, by the first of them."""
    return _chains().get(name, (name,))


@cache
def _chains() -> dict[str, tuple[str, ...]]:
    every = [pattern for group in patterns().values() for pattern in group]
    return {
        chain[0]: chain for chain in (*WALLS.values(), *(chain for one in every for chain in one.concepts))
    }
