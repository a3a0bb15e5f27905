"""Family scores for leaf concepts without training records.

A family is a root concept with all concepts below it. q is the distribution over concepts that the model
predicts for a record. If no training record had a leaf, q of the leaf is a guess. In some families, the sum
of q over the family then ranks records better. A model's `untaught_by_family` lists these families.

Shapes: B records, N concepts.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.model.mar_ecg import MarEcg


def judged_by_family(model: MarEcg) -> list[int]:
    """Return the leaves that are scored by their family: leaves without training records.

    Only leaves of the families in `untaught_by_family` are returned. The list is empty if the model doesn't
    state the number of training records of each leaf.
    """
    support, onto = (model.provenance and model.provenance.support) or {}, model.ontology
    return [
        node.index
        for node, root in zip(onto.nodes, onto.families, strict=True)
        if not node.root and support.get(node.abbr) == 0 and onto.nodes[root].abbr in model.untaught_by_family
    ]


def family_of(model: MarEcg, leaves: list[int]) -> list[int]:
    """Return the indices of all concepts in the families of the leaves, roots included."""
    families = np.array(model.ontology.families)
    members: list[int] = np.flatnonzero(np.isin(families, families[leaves])).tolist()
    return members


def by_family(model: MarEcg, q_BN: NDArray[np.floating]) -> dict[int, NDArray[np.floating]]:
    """Return the family score of each leaf in `judged_by_family`: the sum of q over its family, [B]."""
    return {leaf: q_BN[..., family_of(model, [leaf])].sum(-1) for leaf in judged_by_family(model)}
