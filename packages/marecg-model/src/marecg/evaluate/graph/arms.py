"""The experiment's design, and what each of its arms lets targets and prototypes know of a graph.

Shapes: M records, N concepts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology
from marecg.base.config import Settings, chosen

NONE, REAL, EDGELESS, LABELS, SHUFFLE = "none", "real", "edgeless", "labels", "shuffle"


class Design(Settings):
    """Changed by `marecg ablate-graph --set key=value`; docs/graph/plan.md gives the reasons at length."""

    test_source: str = chosen("ptbxl", "its codes test and never teach")
    shuffles: int = chosen(20, "p can't fall below 1 / 21", ge=1)
    sigmas: tuple[float, ...] = chosen((0.25, 0.5, 1.0), "of the soft targets; 1 is the paper's")
    steps: tuple[int, ...] = chosen((100, 200, 400), "of the heads: when all is scored")
    seeds: int = chosen(10, "draws and first weights of heads per base, with all codes", ge=0)
    regime_seeds: int = chosen(5, "the same with few or coarse codes, and with leaves left out", ge=0)
    branch_steps: int = chosen(0, "of the encoder, from each base by each arm; 0 trains heads alone", ge=0)
    branch_sigma: float = chosen(0.5, "where heads have learnt most of what their targets hold", gt=0)
    branch_arms: tuple[str, ...] = chosen(
        (NONE, REAL, EDGELESS, f"{SHUFFLE} 0", LABELS, "flat", f"{SHUFFLE} 1", f"{SHUFFLE} 2"),
        "the most telling first: each is trained on all bases before the next",
    )


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
        controls: other graphs by name; those of leaves exchanged are called `shuffle 0`, `shuffle 1`, …
    """
    graphs = {REAL: real, **controls}
    reaching = [GraphArm(name, graph, sigma) for name, graph in graphs.items() for sigma in sigmas]
    targets = [GraphArm("target only", real, sigma, propagates=False) for sigma in sigmas]
    graph_less = GraphArm(EDGELESS, real, math.nan, propagates=False)
    return [*reaching, *targets, GraphArm("Â only", real, math.nan), graph_less]
