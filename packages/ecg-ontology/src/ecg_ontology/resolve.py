"""From a draft's statements to numbered concepts and edges.

Only what is sound is resolved, so the checks can ask for the enumeration of a faulty draft too.
"""

from ecg_ontology.concepts import Concept, Kind, Relation, Tier
from ecg_ontology.drafts import Draft, DraftConcept
from ecg_ontology.enumeration import enumeration_lines

_SAME = Concept.model_fields.keys() & DraftConcept.model_fields.keys() - {"index"}
"""What a concept has as its source states it."""


def draft_nodes(draft: Draft) -> tuple[Concept, ...]:
    """Return the concepts that state an index and a tier, in index order."""
    return tuple(
        sorted(
            (
                Concept(
                    index=concept.index,
                    root=concept.tier is Tier.root,
                    **{name: getattr(concept, name) for name in _SAME},
                )
                for concept in draft.concepts
                if concept.index is not None and concept.tier is not None
            ),
            key=lambda node: node.index,
        )
    )


def draft_relations(draft: Draft) -> tuple[Relation, ...]:
    """Return the edges between numbered concepts, each once, by kind as `Kind` lists them."""
    index = {concept.iri: concept.index for concept in draft.concepts}
    edges: dict[Relation, None] = {}
    for relation in draft.relations:
        source, target = index.get(relation.subject), index.get(relation.object)
        if source is None or target is None:
            continue
        if relation.kind.symmetric and source > target:
            source, target = target, source
        edges[Relation(kind=relation.kind, source=source, target=target)] = None
    order = {kind: place for place, kind in enumerate(Kind)}
    return tuple(sorted(edges, key=lambda edge: (order[edge.kind], edge.source, edge.target)))


def draft_lines(draft: Draft) -> tuple[str, ...]:
    """Return the enumeration's lines of `draft`."""
    return enumeration_lines(draft_nodes(draft), draft_relations(draft))
