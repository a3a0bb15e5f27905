"""The frozen enumeration: the lines that a checkpoint depends on, their hash, and how two of them differ.

The lines are, for every concept in index order, ``node <index> <tier> <abbr> <iri>`` and then, sorted, for
every edge ``edge <kind> <source> <target>``, fields separated by tabs. Labels, text variants and routing are
not in them: a model stays valid when those are corrected.

Only what is sound in a draft is numbered, so the checks can ask for the enumeration of a faulty one too.
"""

import hashlib
from collections.abc import Iterable, Sequence

from ecg_ontology.concepts import Concept, Kind, Relation, Tier
from ecg_ontology.drafts import Draft, DraftConcept

KIND_ORDER = {kind: place for place, kind in enumerate(Kind)}
_SAME = Concept.model_fields.keys() & DraftConcept.model_fields.keys() - {"index"}
"""What a concept has as its source states it."""


def draft_nodes(draft: Draft) -> tuple[Concept, ...]:
    """Return the concepts that state an index and a tier, in index order."""
    nodes = [
        Concept(index=one.index, root=one.tier is Tier.root, **{name: getattr(one, name) for name in _SAME})
        for one in draft.concepts
        if one.index is not None and one.tier is not None
    ]
    return tuple(sorted(nodes, key=lambda node: node.index))


def draft_relations(draft: Draft) -> tuple[Relation, ...]:
    """Return the edges between numbered concepts, each once, by kind as `Kind` lists them."""
    index = {concept.iri: concept.index for concept in draft.concepts}
    edges = set()
    for relation in draft.relations:
        source, target = index.get(relation.subject), index.get(relation.object)
        if source is not None and target is not None:
            if relation.kind.symmetric and source > target:
                source, target = target, source
            edges.add(Relation(kind=relation.kind, source=source, target=target))
    return tuple(sorted(edges, key=lambda edge: (KIND_ORDER[edge.kind], edge.source, edge.target)))


def draft_lines(draft: Draft) -> tuple[str, ...]:
    """Return the enumeration's lines of `draft`."""
    return enumeration_lines(draft_nodes(draft), draft_relations(draft))


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
    changes = [(line, "- ") for line in old if line not in after]
    changes += [(line, "+ ") for line in new if line not in before]
    return tuple(sign + line.replace("\t", " ") for line, sign in sorted(changes, key=_order))


def _order(item: tuple[str, str]) -> tuple[bool, int, bool, str]:
    """Nodes by index, old before new; then edges."""
    line, sign = item
    kind, second, *_ = line.split("\t")
    is_edge = kind == "edge"
    return (is_edge, 0 if is_edge else int(second), sign == "+ ", line)
