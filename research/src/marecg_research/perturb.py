"""Make control graphs with deliberate errors, which show how much a model benefits from the real graph.

Each control is a separate ontology with another IRI, hash and title. Only edges change: concepts keep their
indices, abbreviations, labels and texts, and codes keep their leaves. With the rule `most-specific`, which
depends on subtypes, the primary concept of 0.6 to 6 % of the coded records also changes. The soft target
of a record is centred on its primary concept.

Example:
    >>> import ecg_ontology
    >>> real = ecg_ontology.load()
    >>> wrong = flat(real)
    >>> [node.abbr for node in wrong.nodes] == [node.abbr for node in real.nodes]
    True
    >>> len(wrong.draft.relations) < len(real.draft.relations)
    True
"""

import random
import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from ecg_base import UsageError
from ecg_ontology.graph.concepts import Kind, Tier
from ecg_ontology.graph.drafts import Draft, DraftRelation, RoutingRow
from ecg_ontology.graph.enumeration import lock_of
from ecg_ontology.ontology import Ontology

_COPIED_FIELDS = ("official", "abbreviations", "misstatements", "shapes", "unread")
"""Fields of the real draft that are copied. Cross-references aren't needed in a control."""


def control_of(onto: Ontology, name: str) -> Ontology:
    """Return a control by name: ``shuffle=SEED``, ``flat``, or ``drop=KIND,KIND``.

    Raises `UsageError` if the name is unknown, or if the control can't be made.
    """
    change, _, value = name.partition("=")
    if name == "flat":
        return flat(onto)
    if change == "shuffle" and re.fullmatch(r"\d+", value):
        return shuffled(onto, int(value))
    words = dict.fromkeys(value.split(","))
    if change == "drop" and words.keys() <= {*Kind}:
        return without(onto, [Kind(word) for word in words])
    droppable = ", ".join(kind for kind in Kind if kind is not Kind.family)
    remedy = f"Write shuffle=SEED, flat, or drop=KIND,KIND with kinds from {droppable}"
    raise UsageError(f"unknown control {name!r}", remedy=remedy)


def shuffled(onto: Ontology, seed: int) -> Ontology:
    """Permute the leaves. The graph has the same shape, and the distances D are only permuted.

    Raises `UsageError` if the permutation doesn't change the graph.
    """
    draft = onto.draft
    leaves = [concept.iri for concept in draft.concepts if concept.tier is Tier.leaf]
    permuted = random.Random(seed).sample(leaves, len(leaves))  # noqa: S311 (no secret is drawn)
    new_iri = dict(zip(leaves, permuted, strict=True))
    relations = tuple(_moved(relation, new_iri) for relation in draft.relations)
    if _edges(relations) == _edges(draft.relations):
        raise UsageError(f"the seed {seed} doesn't change the graph", remedy="Use another seed")
    return _control(draft, relations, f"shuffle-{seed}", f"leaves exchanged by seed {seed}")


def flat(onto: Ontology) -> Ontology:
    """Keep only the family edges of leaves. Raises `UsageError` if the graph is flat already."""
    return without(onto, [kind for kind in Kind if kind is not Kind.family], name="flat")


def without(onto: Ontology, kinds: Collection[Kind], *, name: str = "") -> Ontology:
    """Drop all edges of some kinds. Edges of families can't be dropped, because leaves need a root.

    The new IRI ends in `name`, or in the kinds if `name` is empty. Raises `UsageError` if the graph has no
    edge of these kinds.
    """
    draft = onto.draft
    names = " and ".join(kind.value for kind in kinds)
    if Kind.family in kinds:
        raise UsageError("edges of families can't be dropped", remedy="Drop another kind of edge")
    relations = tuple(relation for relation in draft.relations if relation.kind not in kinds)
    if len(relations) == len(draft.relations):
        raise UsageError(f"the graph has no {names} edge to drop")
    name = name or "-".join(("without", *(kind.value for kind in kinds)))
    return _control(draft, relations, name, f"without its {names} edges")


def _control(draft: Draft, relations: tuple[DraftRelation, ...], name: str, change: str) -> Ontology:
    """Return a control with the concepts of a draft (a graph before its checks) and the edges `relations`.

    The families of each code, and the lock that freezes the concepts' numbers, are made from the new edges.
    """
    header = draft.header
    iri = f"{header.iri}/control/{name}"
    renamed = {concept.iri: f"{iri}#{concept.iri.rpartition('#')[2]}" for concept in draft.concepts}
    origin = {
        "iri": iri,
        "title": f"{header.title}, {change}: a control, not for use",
        "provenance": (*header.provenance, f"Made wrong on purpose, from {header.iri}: {change}."),
    }
    perturbed = Draft(
        header=header.model_copy(update=origin),
        concepts=tuple(c.model_copy(update={"iri": renamed[c.iri], "place": ""}) for c in draft.concepts),
        relations=tuple(_moved(relation, renamed) for relation in relations),
        mappings=tuple(
            row.model_copy(update={"node": row.node and renamed[row.node], "place": "", "node_label": ""})
            for row in draft.mappings
        ),
        **{name: getattr(draft, name) for name in _COPIED_FIELDS},
    )
    closed = perturbed.model_copy(update={"mappings": _closed(perturbed)})
    return Ontology(closed.model_copy(update={"lock": lock_of(closed)}), where=iri)


def _moved(relation: DraftRelation, new_iri: Mapping[str, str]) -> DraftRelation:
    subject, end = (new_iri.get(iri, iri) for iri in (relation.subject, relation.object))
    return DraftRelation(kind=relation.kind, subject=subject, object=end)


def _closed(draft: Draft) -> tuple[RoutingRow, ...]:
    """Return the rows that map codes to concepts. A code with leaves also maps to their current families."""
    family = draft.families
    roots = {concept.iri for concept in draft.concepts if concept.tier is Tier.root}
    rows: dict[tuple[str, str], list[RoutingRow]] = defaultdict(list)
    for row in draft.mappings:
        rows[row.code, row.table].append(row)
    closed: list[RoutingRow] = []
    for group in rows.values():
        families = list(dict.fromkeys(family[row.node] for row in group if row.node in family))
        if not families:
            closed += group
            continue
        leaves = [row for row in group if row.node not in roots]
        first = leaves[0].model_copy(update={"predicate": "skos:broadMatch", "reason": ""})
        closed += [*leaves, *(first.model_copy(update={"node": root}) for root in families)]
    return tuple(closed)


def _edges(relations: Collection[DraftRelation]) -> set[tuple[str, str, str]]:
    return {(relation.kind.value, relation.subject, relation.object) for relation in relations}
