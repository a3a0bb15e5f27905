"""Define the arms of the experiment: the graph, parts of its content, and matched controls.

A leaf of the graph is a finding, and a family is the leaves under a root. The soft target of a record gives
each concept a share that falls with its distance from the record's primary leaf. The larger σ, the slower it
falls.
Â is the normalised adjacency matrix, which mixes the prototypes (vectors) of neighbouring concepts.

Shapes: M records, N concepts, R families (roots).
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
"""Weight of the loss on families, relative to the loss on leaves, from research/graph/plan.md."""
MATCHING = 24
"""Number of bisections in the search for a control's σ."""


@dataclass(frozen=True)
class GraphArm:
    """Arm of the experiment: a graph, and the parts of the graph that are used for training.

    Attributes:
        name: name of the arm.
        graph: the graph.
        sigma: σ of the soft targets; NaN if targets contain only the record's own leaves.
        propagates: whether prototypes are propagated by Â. If False, Â is replaced by the identity.
        matched: σ that is used in place of `sigma`, so that a control's targets have the same entropy as the
            real graph's; None if `sigma` is used.
        families: weight of the loss on families, relative to the loss on leaves.
        coarse: whether records with only a known family are used.
    """

    name: str
    graph: Ontology
    sigma: float
    propagates: bool = True
    matched: float | None = None
    families: float = 0.0
    coarse: bool = True

    def targets(self, y_MN: NDArray[np.uint8], coarse_M: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return soft targets, float32 [M, N]. The target of a record that isn't used is zero.

        If only the family of a record is known, its target starts from the root of the family. The paper
        leaves such records out.

        Args:
            y_MN: leaves of the records.
            coarse_M: a concept of the known family, if only the family of a record is known; otherwise −1.
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
        """Return uniform targets over each record's families, float32 [M, R]."""
        y_MN, only_M = y_MN.copy(), coarse_M >= 0
        y_MN[only_M, coarse_M[only_M]] = 1
        t_MR = (y_MN @ members(self.graph).T > 0).astype(np.float32)
        return np.asarray(t_MR / np.maximum(t_MR.sum(1, keepdims=True), 1), np.float32)

    def propagation(self) -> NDArray[np.float32]:
        """Return the matrix that propagates prototypes, float32 [N, N]: I + Â, or 2 I without propagation."""
        identity_NN = np.eye(len(self.graph))
        return np.asarray(identity_NN + (self.graph.a_hat if self.propagates else identity_NN), np.float32)


def members(onto: Ontology) -> NDArray[np.uint8]:
    """Return the members of each family, including its root, uint8 [R, N]."""
    return np.asarray(np.equal.outer(onto.roots, onto.families), np.uint8)


def matched_sigma(graph: Ontology, y_MN: NDArray[np.uint8], entropy: float) -> float:
    """Return the σ at which a graph's targets have the mean entropy `entropy`, in nats.

    Entropy rises with σ. If no σ between 0.05 and 5 has this entropy, the nearer end is returned.
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
    """Return all arms with prototypes. An arm with soft targets appears once per σ.

    Args:
        real: the real graph.
        controls: control graphs by name.
        sigmas: values of σ.
        y_MN: leaves of the training records, to match the entropy of shuffled graphs; None for no matching.
        random_families: number of arms that learn only the families of a shuffled graph.
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
