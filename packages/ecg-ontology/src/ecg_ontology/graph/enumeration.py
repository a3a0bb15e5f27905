"""Enumerate a graph: the lines that a checkpoint depends on, their differences, and the lock file.

The enumeration has a line ``node <index> <tier> <abbr> <iri>`` per concept, in the order of the indices. A
sorted line ``edge <kind> <source> <target>`` per edge follows, with the indices of its concepts. Fields are
separated by tabs. Labels, text variants and routing are excluded, so a model stays valid if they are
corrected.

A draft is the unchecked content of an ontology's files. Invalid concepts of a draft are skipped, so the
checks can enumerate a faulty draft.

``enumeration.lock`` freezes these lines: it contains the lines of a version and their hash. A second hash in
the file freezes everything else that determines a training target: the yielding concepts (see
`Concept.yields`), and the routes of all codes. Texts and crosswalks are not frozen.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

from ecg_ontology.base.errors import SourceError
from ecg_ontology.graph.concepts import Concept, Kind, Relation, Tier
from ecg_ontology.graph.drafts import LOCK_LINE, Draft, DraftConcept, Lock

KIND_ORDER = {kind: rank for rank, kind in enumerate(Kind)}
_SAME = Concept.model_fields.keys() & DraftConcept.model_fields.keys() - {"index"}
"""Fields that are equal in a concept and its draft."""
_HEAD = """\
# What a version froze. `ecgonto build --new-version` writes this file; never edit it.
# sha256 is the hash of the node and edge lines: grep -E '^(node|edge)' enumeration.lock | sha256sum
# routing is the hash of the other lines: grep -E '^(yields|route)\t' enumeration.lock | sha256sum
"""
_RESTORE = "Restore it from version control"
_ONCE = ("version", "sha256", "routing")
_FORMER = ("seal", "official", "hash", "earlier", "item")
"""Keys in an earlier format of the lock, which also froze texts. Lines with these keys are ignored."""


def draft_nodes(draft: Draft) -> tuple[Concept, ...]:
    """Return the concepts that have an index and a tier, in the order of the indices."""
    nodes = [
        Concept(index=stated.index, root=stated.tier is Tier.root, **{f: getattr(stated, f) for f in _SAME})
        for stated in draft.concepts
        if stated.index is not None and stated.tier is not None
    ]
    return tuple(sorted(nodes, key=lambda node: node.index))


def draft_relations(draft: Draft) -> tuple[Relation, ...]:
    """Return the edges between concepts with an index, without duplicates, in the order of `Kind`."""
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
    """Return the lines of the enumeration of a draft."""
    return enumeration_lines(draft_nodes(draft), draft_relations(draft))


def enumeration_lines(nodes: Iterable[Concept], relations: Iterable[Relation]) -> tuple[str, ...]:
    """Return the lines of the enumeration of a graph."""
    rows = [
        f"node\t{node.index}\t{Tier.root if node.root else Tier.leaf}\t{node.abbr}\t{node.iri}"
        for node in sorted(nodes, key=lambda node: node.index)
    ]
    edges = sorted({(relation.kind.value, relation.source, relation.target) for relation in relations})
    return (*rows, *(f"edge\t{kind}\t{source}\t{target}" for kind, source, target in edges))


def sha256_of(lines: Sequence[str]) -> str:
    """Return the SHA-256 of lines in UTF-8, each with a final line feed, like ``sha256sum``."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def enumeration_difference(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    r"""Return the changed lines: ``- …`` for lines only in `old`, ``+ …`` for lines only in `new`."""
    before, after = set(old), set(new)
    changes = [(line, "- ") for line in old if line not in after]
    changes += [(line, "+ ") for line in new if line not in before]
    return tuple(sign + line.replace("\t", " ") for line, sign in sorted(changes, key=_order))


def _order(item: tuple[str, str]) -> tuple[bool, int, bool, str]:
    """Return the sort key of a change: nodes by index with old before new, then edges."""
    line, sign = item
    kind, second, *_ = line.split("\t")
    is_edge = kind == "edge"
    return (is_edge, 0 if is_edge else int(second), sign == "+ ", line)


def lock_of(draft: Draft) -> Lock:
    """Return the content of ``enumeration.lock`` for a draft of the graph."""
    lines, yields, routes = draft_lines(draft), yielding(draft), frozen_routes(draft)
    return Lock(
        version=draft.header.version,
        sha256=sha256_of(lines),
        lines=lines,
        yields=yields,
        routing=routing_sha256(yields, routes),
        routes=routes,
    )


def frozen_routes(draft: Draft) -> tuple[str, ...]:
    """Return sorted lines ``route <table> <code> <predicate> <node>`` for all rows of the routing tables."""
    rows = (
        (row.table, row.code, row.predicate, draft.abbreviation(row.node) if row.node else "nothing")
        for row in draft.mappings
    )
    return tuple(
        sorted("\t".join(("route", *(re.sub(r"[\t\r\n]", " ", cell) for cell in cells))) for cells in rows)
    )


def routing_sha256(yields: Iterable[int], routes: Iterable[str]) -> str:
    """Return the SHA-256 of the lock's lines for `yielding` concepts and `frozen_routes`."""
    return sha256_of([*(f"yields\t{index}" for index in yields), *routes])


def yielding(draft: Draft) -> tuple[int, ...]:
    """Return the indices of the yielding concepts, the findings of a healthy heart (`Concept.yields`)."""
    return tuple(sorted(c.index for c in draft.concepts if c.yields and c.index is not None))


def lock_text(lock: Lock) -> str:
    """Return the text of ``enumeration.lock``."""
    lines = (
        f"version\t{lock.version}",
        f"sha256\t{lock.sha256}",
        f"routing\t{lock.routing}",
        *lock.lines,
        *(f"yields\t{index}" for index in lock.yields),
        *lock.routes,
    )
    return _HEAD + "".join(f"{line}\n" for line in lines)


def parse_lock(text: str, place: str) -> Lock:
    """Parse the text of ``enumeration.lock``. Raises `SourceError` with the file `place` if it is damaged."""
    fields: dict[str, list[str]] = {key: [] for key in (*_ONCE, "yields", "route")}
    lines: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        key, _, rest = line.partition("\t")
        if re.fullmatch(LOCK_LINE, line):
            lines.append(line)
        elif re.fullmatch(
            r"(version|sha256|routing)\t[^\t]+|yields\t[0-9]{1,9}|route\t[^\t]+\t[^\t]+\t[^\t]*\t[^\t]+", line
        ):
            fields[key].append(line if key == "route" else rest)
        elif line and not line.startswith("#") and key not in _FORMER:
            raise SourceError(f"line {number} is damaged", where=place, remedy=_RESTORE)
    if not (fields["version"] and fields["sha256"]) or any(len(fields[key]) > 1 for key in _ONCE):
        problem = "must have one version, one sha256 and at most one routing"
        raise SourceError(problem, where=place, remedy=_RESTORE)
    return Lock(
        version=fields["version"][0],
        sha256=fields["sha256"][0],
        lines=tuple(lines),
        yields=tuple(map(int, fields["yields"])),
        routing="".join(fields["routing"]),
        routes=tuple(fields["route"]),
        place=place,
    )
