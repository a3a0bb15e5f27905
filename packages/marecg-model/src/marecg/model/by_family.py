"""Leaves that no training record bore, and the evidence of their family, which serves in their place.

q ranks records by such a leaf no better than by chance; the mass of q on its family does better
(docs/graph.md).

Shapes: B records, N concepts.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.model.mar_ecg import MarEcg


def untaught(model: MarEcg) -> list[int]:
    """The leaves that no record of the training bore; none where nobody counted."""
    support = (model.provenance and model.provenance.support) or {}
    return [node.index for node in model.ontology.nodes if not node.root and support.get(node.abbr) == 0]


def family_of(model: MarEcg, leaves: list[int]) -> list[int]:
    """All concepts of the leaves' families, roots included."""
    families = np.array(model.ontology.families)
    members: list[int] = np.flatnonzero(np.isin(families, families[leaves])).tolist()
    return members


def by_family(model: MarEcg, q_BN: NDArray[np.floating]) -> dict[int, NDArray[np.floating]]:
    """Of each untaught leaf the mass of q on its family, [B]."""
    return {leaf: q_BN[..., family_of(model, [leaf])].sum(-1) for leaf in untaught(model)}
