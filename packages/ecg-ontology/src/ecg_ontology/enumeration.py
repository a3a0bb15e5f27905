"""The frozen enumeration: the lines that a checkpoint depends on, their hash, and how two of them differ.

The lines are, for every concept in index order, ``node <index> <tier> <abbr> <iri>`` and then, sorted, for
every edge ``edge <kind> <source> <target>``, fields separated by tabs. Labels, text variants and routing are
not in them: a model stays valid when those are corrected.
"""

import hashlib
from collections.abc import Iterable, Sequence

from ecg_ontology.concepts import Concept, Relation, Tier


def enumeration_lines(nodes: Iterable[Concept], relations: Iterable[Relation]) -> tuple[str, ...]:
    """Return the lines of the enumeration."""
    rows = [
        f"node\t{node.index}\t{Tier.root if node.root else Tier.leaf}\t{node.abbr}\t{node.iri}"
        for node in sorted(nodes, key=lambda node: node.index)
    ]
    edges = sorted({(relation.kind.value, relation.source, relation.target) for relation in relations})
    return (*rows, *(f"edge\t{kind}\t{source}\t{target}" for kind, source, target in edges))


def sha256_of(lines: Sequence[str]) -> str:
    """Return the SHA-256 of the lines as UTF-8, each ended by a line feed: what ``sha256sum`` says."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def enumeration_difference(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    r"""Return what `new` changes in `old`, one line each: ``- …`` is only in `old`, ``+ …`` only in `new`.

    Example:
        >>> enumeration_difference(["node\t0\tRoot\tNormal\tx#N"], ["node\t0\tRoot\tHealthy\tx#N"])
        ('- node 0 Root Normal x#N', '+ node 0 Root Healthy x#N')
    """
    before, after = set(old), set(new)
    gone = [(line, "- ") for line in old if line not in after]
    come = [(line, "+ ") for line in new if line not in before]
    return tuple(sign + line.replace("\t", " ") for line, sign in sorted(gone + come, key=_order))


def _order(item: tuple[str, str]) -> tuple[bool, int, bool, str]:
    """Nodes by index, old before new; then edges."""
    line, sign = item
    kind, second, *_ = line.split("\t")
    is_edge = kind == "edge"
    return (is_edge, 0 if is_edge else int(second), sign == "+ ", line)
