"""Frozen enumeration: the lines that a checkpoint depends on, their differences, and the lock file.

The lines are, for every concept in index order, ``node <index> <tier> <abbr> <iri>`` and then, sorted, for
every edge ``edge <kind> <source> <target>``, fields separated by tabs. Labels, text variants and routing are
not in them: a model stays valid when those are corrected.

Only what is sound in a draft is numbered, so the checks can ask for the enumeration of a faulty one too.

``enumeration.lock`` freezes these lines, and whatever else has a meaning item by item, each group of items
by a hash: the texts of a concept, a code of the official map, a row of a routing table, an erratum.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

from ecg_ontology.base.errors import SourceError
from ecg_ontology.graph.concepts import Concept, Kind, Relation, Tier
from ecg_ontology.graph.drafts import LOCK_LINE, Draft, DraftConcept, Lock

KIND_ORDER = {kind: place for place, kind in enumerate(Kind)}
_SAME = Concept.model_fields.keys() & DraftConcept.model_fields.keys() - {"index"}
"""What a concept has as its source states it."""
_HEAD = """\
# What a version froze. `ecgonto build --new-version` writes this file; never edit it.
# sha256 is that of its node and edge lines: grep -E '^(node|edge)' enumeration.lock | sha256sum
# seal is that of all lines but the comments, the items and itself: grep -vE '^(#|seal|item)' … | sha256sum
# A hash is that of its items: grep -P '^item\\ttexts\\t' enumeration.lock | sha256sum
"""
_RESTORE = "Restore it from version control"
TABLE = "routing "
"""What the name of a routing table's group begins with."""
PROVENANCE = "provenance "
"""What the name of the group of a table's reasons, authors and dates begins with."""


def draft_nodes(draft: Draft) -> tuple[Concept, ...]:
    """Return the concepts with an index and a tier, in index order."""
    nodes = [
        Concept(index=one.index, root=one.tier is Tier.root, **{name: getattr(one, name) for name in _SAME})
        for one in draft.concepts
        if one.index is not None and one.tier is not None
    ]
    return tuple(sorted(nodes, key=lambda node: node.index))


def draft_relations(draft: Draft) -> tuple[Relation, ...]:
    """Return the edges between numbered concepts, each once, in the order of `Kind`."""
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
    """Return the enumeration's lines of a draft."""
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
    """Return the SHA-256 of lines in UTF-8, each ended by a line feed, as ``sha256sum`` does."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def enumeration_difference(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    r"""Return the changed lines: ``- …`` is only in `old`, ``+ …`` only in `new`."""
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


def lock_of(draft: Draft) -> Lock:
    """Return the lock of a draft; a replaced lock becomes an earlier version."""
    lines = draft_lines(draft)
    items = frozen_items(draft)
    before = draft.lock
    earlier = {} if before is None else dict(before.earlier)
    if before is not None and before.version != draft.header.version:
        earlier[before.version] = before.seal
    lock = Lock(
        version=draft.header.version,
        earlier=earlier,
        sha256=sha256_of(lines),
        lines=lines,
        yields=yielding(draft),
        official=len(draft.official),
        hashes={group: sha256_of(lines) for group, lines in items.items()},
        items=tuple(line for lines in items.values() for line in lines),
    )
    return lock.model_copy(update={"seal": seal_of(lock)})


def frozen_items(draft: Draft) -> dict[str, list[str]]:
    """Return further frozen content by group: lines ``item <group> <what> …``, sorted."""
    rows: dict[str, list[tuple[str, ...]]] = {"texts": [], "official": [], "errata": [], "statements": []}
    for c in draft.concepts:
        names = [f"{name.text}@{name.language}" for name in (*c.translations, *c.synonyms)]
        rows["texts"].append(
            (c.abbr, _digest((c.label, *c.variants, "", c.definition, *names, str(c.deprecated))))
        )
    rows["official"] += draft.official.items()
    for row in (*draft.mappings, *draft.crosswalks):
        node = draft.abbreviation(row.node) if row.node else "nothing"
        cells = (row.code, row.predicate, node, row.modifier, row.label)
        rows.setdefault(f"{TABLE}{row.table}", []).append(cells)
        who = (row.reason, row.source, row.justification, row.author, row.date, row.override, row.confidence)
        rows.setdefault(f"{PROVENANCE}{row.table}", []).append((row.code, node, _digest(who)))
    for erratum in draft.errata:
        rows["errata"].append((erratum.id, _digest(erratum.model_dump(exclude={"test"}).values())))
    rows["statements"] += [
        (triple.subject, _digest((triple.predicate, triple.object))) for triple in draft.statements
    ]
    rows["sources"] = [(c.abbr, _digest((*c.sources, str(c.either_parent)))) for c in draft.concepts]
    header = draft.header.model_dump(exclude={"iri", "version"})
    rows["header"] = [(name, _digest(map(str, (value,)))) for name, value in header.items()]
    rows["heads"] = [
        (name, _digest((*map(str, head.slots.items()), *map(str, head.prefixes.items()))))
        for name, head in draft.tables.items()
    ]
    rows["abbreviations"] = list(draft.abbreviations.items())
    rows["shapes"] = [("shapes.ttl", sha256_of(draft.shapes.splitlines()))] if draft.shapes else []
    return {
        group: sorted(
            "\t".join(("item", group, *(re.sub(r"[\t\r\n]", " ", cell) for cell in cells))) for cells in table
        )
        for group, table in rows.items()
        if table
    }


def _digest(texts: Iterable[str]) -> str:
    return sha256_of([text.replace("\n", "\\n") for text in texts])[:16]


def yielding(draft: Draft) -> tuple[int, ...]:
    """Return the indices of the concepts that yield."""
    return tuple(sorted(c.index for c in draft.concepts if c.yields and c.index is not None))


def seal_of(lock: Lock) -> str:
    """Return the hash of a lock's lines without the items, which have their own hashes."""
    return sha256_of(_body(lock))


def lock_text(lock: Lock) -> str:
    """Return the text of ``enumeration.lock``."""
    version, sha256, *body = _body(lock)
    lines = (version, sha256, f"seal\t{lock.seal}", *body, *lock.items)
    return _HEAD + "".join(f"{line}\n" for line in lines)


def _body(lock: Lock) -> list[str]:
    return [
        f"version\t{lock.version}",
        f"sha256\t{lock.sha256}",
        *lock.lines,
        *(f"yields\t{index}" for index in lock.yields),
        *([f"official\t{lock.official}"] if lock.official else []),
        *(f"hash\t{group}\t{value}" for group, value in lock.hashes.items()),
        *(f"earlier\t{version}\t{seal}" for version, seal in lock.earlier.items()),
    ]


def parse_lock(text: str, place: str) -> Lock:
    """Read the text of ``enumeration.lock``. Raises `SourceError` if it isn't `lock_text`'s."""
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        key, _, rest = line.partition("\t")
        if re.fullmatch(LOCK_LINE, line):
            lines.append(line)
        elif re.fullmatch(
            r"(version|sha256|seal)\t[^\t]+|(yields|official)\t[0-9]{1,9}|(hash|earlier)\t[^\t]+\t\w+", line
        ):
            fields.setdefault(key, []).append(rest)
        elif key == "item":
            fields.setdefault(key, []).append(line)
        elif line and not line.startswith("#"):
            raise SourceError(f"line {number} is damaged", where=place, remedy=_RESTORE)
    single = {
        key: values[0] for key, values in fields.items() if key not in ("yields", "hash", "earlier", "item")
    }
    if not {"version", "sha256", "seal"} <= single.keys() or any(len(fields[key]) > 1 for key in single):
        problem = "isn't an enumeration lock: it names no version, sha256 and seal, or two"
        raise SourceError(problem, where=place, remedy=_RESTORE)
    return Lock(
        version=single["version"],
        sha256=single["sha256"],
        lines=tuple(lines),
        yields=tuple(map(int, fields.get("yields", ()))),
        official=int(single.get("official", 0)),
        hashes=dict(line.split("\t") for line in fields.get("hash", ())),
        items=tuple(fields.get("item", ())),
        earlier=dict(line.split("\t") for line in fields.get("earlier", ())),
        seal=single["seal"],
        place=place,
    )
