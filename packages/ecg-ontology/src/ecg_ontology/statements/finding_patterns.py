"""Load the patterns of findings: combinations of terms in a sentence, with their concepts.

A term is a language-independent name for words of the lexicon, for example INFARCT. If an ontology lacks the
preferred concept of a finding, the next alternative is used.
"""

from functools import cache
from typing import NamedTuple

from ecg_ontology.statements.lexicon import table_rows


class Pattern(NamedTuple):
    """Pattern of a finding.

    Attributes:
        terms: terms that must occur, each as a set of alternatives.
        concepts: concepts of the finding. Each is a tuple of alternatives in order of preference.
    """

    terms: tuple[frozenset[str], ...]
    concepts: tuple[tuple[str, ...], ...]


@cache
def patterns() -> dict[str, tuple[Pattern, ...]]:
    """Return the patterns of `findings.tsv`, grouped by their first term.

    If the first term of a pattern has alternatives, the pattern is listed under each alternative.
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
    """Return the concepts for a finding in order of preference, given the name of the first concept."""
    return _chains().get(name, (name,))


@cache
def _chains() -> dict[str, tuple[str, ...]]:
    of_patterns = (chain for group in patterns().values() for pattern in group for chain in pattern.concepts)
    return {chain[0]: chain for chain in (*WALLS.values(), *of_patterns)}
