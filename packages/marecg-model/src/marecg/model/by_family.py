"""Leaves without training records, scored by the evidence of their family.

Whether the mass of q on a family ranks records by an untaught leaf better than the leaf's own share depends
on the family. A model's `untaught_by_family` lists the families for which it does.

Shapes: B records, N concepts.
"""

import numpy as np
from numpy.typing import NDArray

from marecg.model.window_encoder import WindowEncoder


def judged_by_family(model: WindowEncoder) -> list[int]:
    """Return leaves without a training record of the model's `untaught_by_family`; none without counts."""
    support, onto = (model.provenance and model.provenance.support) or {}, model.ontology
    return [
        node.index
        for node, root in zip(onto.nodes, onto.families, strict=True)
        if not node.root and support.get(node.abbr) == 0 and onto.nodes[root].abbr in model.untaught_by_family
    ]


def family_of(model: WindowEncoder, leaves: list[int]) -> list[int]:
    """Return all concepts of the leaves' families, roots included."""
    families = np.array(model.ontology.families)
    members: list[int] = np.flatnonzero(np.isin(families, families[leaves])).tolist()
    return members


def by_family(model: WindowEncoder, q_BN: NDArray[np.floating]) -> dict[int, NDArray[np.floating]]:
    """Return the mass of q on the family of each leaf that its family judges, [B] by leaf."""
    return {leaf: q_BN[..., family_of(model, [leaf])].sum(-1) for leaf in judged_by_family(model)}
