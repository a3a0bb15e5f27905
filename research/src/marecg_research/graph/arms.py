"""Arms of the experiment: the graph, parts of its content, and matched controls.

Shapes: M records, N concepts, R families (roots), or records of which the family alone is known.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecg_ontology import Ontology

NONE, REAL, EDGELESS, LABELS, SHUFFLE = "none", "real", "edgeless", "labels", "shuffle"
LEAF_ONLY, INFERENCE_ONLY, LABELS_INFERENCE = "leaf only", "inference only", "labels, inference"
SPREAD = "spread"
FAMILIES, RANDOM_FAMILIES = "families", "random families"
FAMILY_WEIGHT = 0.5
"""λ of the hierarchical cross-entropy, as chosen in the first edition of research/graph/plan.md."""
MATCHING = 24
"""Halvings of the interval in which a control's σ is sought."""


@dataclass(frozen=True)
class GraphArm:
    """Arm of the experiment: a graph, and what of its content the heads are taught.

    `sigma` is NaN where a target is the active leaves alone; a control that is matched in entropy has a σ of
    its own beside it, `matched`. Unless it `propagates`, prototypes go over the identity in place of Â. With
    `families` the mass of a record's families counts so much beside its leaves. Without `coarse`, records of
    which only the family is known leave the loss.
    """

    name: str
    graph: Ontology
    sigma: float
    propagates: bool = True
    matched: float | None = None
    families: float = 0.0
    coarse: bool = True

    def targets(self, y_MN: NDArray[np.uint8], coarse_M: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return soft targets from leaves, or from the family if only that is known, float32 [M, N].

        `coarse_M` is then a concept of that family, −1 elsewhere. The paper leaves such records out; here
        their target starts from the root, or is the root alone. All zero is a record that leaves the loss.
        """
        only_M = coarse_M >= 0
        root_R = np.array(self.graph.families)[coarse_M[only_M]]
        if np.isnan(self.sigma):
            t_MN = y_MN / np.maximum(y_MN.sum(1, keepdims=True), 1)
            t_MN[only_M] = np.eye(len(self.graph))[root_R]
        else:
            sigma = self.matched or self.sigma
            t_MN = self.graph.soft_targets(y_MN, sigma=sigma, rule="max-index")
            mass_RN = np.exp(-self.graph.distances[root_R].astype(float) / sigma)
            t_MN[only_M] = mass_RN / mass_RN.sum(1, keepdims=True)
        if not self.coarse or self.families:
            t_MN[only_M] = 0
        return np.asarray(t_MN, np.float32)

    def family_targets(self, y_MN: NDArray[np.uint8], coarse_M: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return uniform targets over the records' families: float32 [M, R]."""
        y_MN, only_M = y_MN.copy(), coarse_M >= 0
        y_MN[only_M, coarse_M[only_M]] = 1
        t_MR = (y_MN @ members(self.graph).T > 0).astype(np.float32)
        return np.asarray(t_MR / np.maximum(t_MR.sum(1, keepdims=True), 1), np.float32)

    def propagation(self) -> NDArray[np.float32]:
        """Return the propagation matrix: I + Â, or twice the identity, float32 [N, N]."""
        identity_NN = np.eye(len(self.graph))
        return np.asarray(identity_NN + (self.graph.a_hat if self.propagates else identity_NN), np.float32)


def members(onto: Ontology) -> NDArray[np.uint8]:
    """Return the members of each family, root included: uint8 [R, N]."""
    return np.asarray(np.equal.outer(onto.roots, onto.families), np.uint8)


def matched_sigma(graph: Ontology, y_MN: NDArray[np.uint8], entropy: float) -> float:
    """Return the σ at which a graph's targets of the records have a given mean entropy in nats.

    Entropy rises with σ; beyond what a graph can reach it is the end of the interval, 0.05 to 5.
    """
    low, high = 0.05, 5.0
    for _ in range(MATCHING):
        sigma = (low + high) / 2
        if mean_entropy(graph.soft_targets(y_MN, sigma=sigma, rule="max-index")) < entropy:
            low = sigma
        else:
            high = sigma
    return (low + high) / 2


def mean_entropy(t_MN: NDArray[np.float64]) -> float:
    """Return the mean entropy of targets, in nats."""
    return float(-np.sum(t_MN * np.log(np.maximum(t_MN, 1e-300)), axis=1).mean())


def arms(
    real: Ontology,
    controls: Mapping[str, Ontology],
    sigmas: Sequence[float],
    y_MN: NDArray[np.uint8] | None = None,
    random_families: int = 0,
) -> list[GraphArm]:
    """List all arms with prototypes; graph targets appear once per σ.

    With the leaves of the teaching records shuffles are matched to the real targets' entropy.
    """
    entropies = {}
    if y_MN is not None:
        distinct_MN = y_MN[y_MN.any(1)]
        entropies = {
            sigma: mean_entropy(real.soft_targets(distinct_MN, sigma=sigma, rule="max-index"))
            for sigma in sigmas
        }

    def reaching(name: str, graph: Ontology, sigma: float) -> GraphArm:
        matched = None
        if name.startswith(f"{SHUFFLE} ") and sigma in entropies:
            matched = matched_sigma(graph, distinct_MN, entropies[sigma])
        return GraphArm(name, graph, sigma, matched=matched)

    graphs = {REAL: real, **controls}
    shuffles = [graph for name, graph in controls.items() if name.startswith(f"{SHUFFLE} ")]
    return [
        *(reaching(name, graph, sigma) for name, graph in graphs.items() for sigma in sigmas),
        *(GraphArm("target only", real, sigma, propagates=False) for sigma in sigmas),
        GraphArm("Â only", real, math.nan),
        GraphArm(FAMILIES, real, math.nan, propagates=False, families=FAMILY_WEIGHT),
        *(
            GraphArm(f"{RANDOM_FAMILIES} {number}", graph, math.nan, propagates=False, families=FAMILY_WEIGHT)
            for number, graph in enumerate(shuffles[:random_families])
        ),
        GraphArm(LEAF_ONLY, real, math.nan, propagates=False, coarse=False),
        GraphArm(EDGELESS, real, math.nan, propagates=False),
    ]
