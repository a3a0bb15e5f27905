"""Patterns of findings: combinations of terms in a sentence, with the concepts that they name."""

from functools import cache
from typing import NamedTuple

from ecg_ontology.statements.lexicon import table_rows


class Pattern(NamedTuple):
    """Terms of a finding, and its concepts."""

    terms: tuple[frozenset[str], ...]
    concepts: tuple[tuple[str, ...], ...]


@cache
def patterns() -> dict[str, tuple[Pattern, ...]]:
    """Return the patterns of `findings.tsv`, grouped by their first term.

    A pattern whose first term has alternatives is listed under each of them.
    """
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
"""Concepts for an infarction of each wall, in order of preference."""


def chain_of(name: str) -> tuple[str, ...]:
    """Return the alternative concepts of a finding in order of preference, given the first of them."""
    return _chains().get(name, (name,))


@cache
def _chains() -> dict[str, tuple[str, ...]]:
    every = [pattern for group in patterns().values() for pattern in group]
    return {
        chain[0]: chain for chain in (*WALLS.values(), *(chain for one in every for chain in one.concepts))
    }
