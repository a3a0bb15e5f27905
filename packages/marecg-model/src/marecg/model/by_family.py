"""Scores for leaves without training records, taken from their family.

In some families, the mass of q on the family ranks records better than the untrained leaf's own share. A
model's `untaught_by_family` lists these families.

Shapes: B records, N concepts.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.model.mar_ecg import MarEcg


def judged_by_family(model: MarEcg) -> list[int]:
    """Return the leaves of `untaught_by_family` without training records; none if counts are unknown."""
    support, onto = (model.provenance and model.provenance.support) or {}, model.ontology
    return [
        node.index
        for node, root in zip(onto.nodes, onto.families, strict=True)
        if not node.root and support.get(node.abbr) == 0 and onto.nodes[root].abbr in model.untaught_by_family
    ]


def family_of(model: MarEcg, leaves: list[int]) -> list[int]:
    """Return all concepts of the leaves' families, roots included."""
    families = np.array(model.ontology.families)
    members: list[int] = np.flatnonzero(np.isin(families, families[leaves])).tolist()
    return members


def by_family(model: MarEcg, q_BN: NDArray[np.floating]) -> dict[int, NDArray[np.floating]]:
    """Return the mass of q on the family of each leaf in `judged_by_family`, [B] by leaf."""
    return {leaf: q_BN[..., family_of(model, [leaf])].sum(-1) for leaf in judged_by_family(model)}
