"""What an arm of the experiment lets targets and prototypes know of a graph.

Shapes: M records, N concepts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology

NONE, REAL, EDGELESS, LABELS, SHUFFLE = "none", "real", "edgeless", "labels", "shuffle"


@dataclass(frozen=True)
class GraphArm:
    """One graph, or a part of what it says.

    Attributes:
        name: the graph, or what is taken of it.
        graph: whose distances and edges are used.
        sigma: of the soft targets; NaN where a target is the active leaves alone.
        propagates: whether the prototypes go over Â; over the identity otherwise.
    """

    name: str
    graph: Ontology
    sigma: float
    propagates: bool = True

    def targets(self, y_MN: NDArray[np.uint8], root_M: NDArray[np.int64]) -> NDArray[np.float32]:
        """Soft targets, float32 [M, N]: of a record's leaves, or of the root that is all that is known of it.

        The paper leaves records of roots out; here they start from the root, or are of its class alone.

        Args:
            y_MN: active leaves.
            root_M: the one root of a record without leaves; −1 elsewhere.
        """
        coarse_M = root_M >= 0
        if np.isnan(self.sigma):
            t_MN = y_MN / np.maximum(y_MN.sum(1, keepdims=True), 1)
            t_MN[coarse_M] = np.eye(len(self.graph))[root_M[coarse_M]]
        else:
            t_MN = self.graph.soft_targets(y_MN, sigma=self.sigma, rule="max-index")
            mass_MN = np.exp(-self.graph.distances[root_M[coarse_M]].astype(float) / self.sigma)
            t_MN[coarse_M] = mass_MN / mass_MN.sum(1, keepdims=True)
        return np.asarray(t_MN, np.float32)

    def propagation(self) -> NDArray[np.float32]:
        """I + Â, or twice the identity, float32 [N, N]."""
        identity_NN = np.eye(len(self.graph))
        return np.asarray(identity_NN + (self.graph.a_hat if self.propagates else identity_NN), np.float32)


def arms(real: Ontology, controls: Mapping[str, Ontology], sigmas: Sequence[float]) -> list[GraphArm]:
    """Every arm that has prototypes: those with a graph's targets once for each σ.

    Args:
        real: the graph of the corpus.
        controls: other graphs by name; those of leaves exchanged are called `shuffle 0`, `shuffle 1`, …
        sigmas: of the soft targets.
    """
    graphs = {REAL: real, **controls}
    reaching = [GraphArm(name, graph, sigma) for name, graph in graphs.items() for sigma in sigmas]
    targets = [GraphArm("target only", real, sigma, propagates=False) for sigma in sigmas]
    graph_less = GraphArm(EDGELESS, real, math.nan, propagates=False)
    return [*reaching, *targets, GraphArm("Â only", real, math.nan), graph_less]
