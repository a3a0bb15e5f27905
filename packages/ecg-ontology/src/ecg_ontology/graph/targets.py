"""Targets y, c* and t, vectorised (appendix, "Primary Positive Concept Selection").

Shapes: B records, N concepts, V codes of a vocabulary and none, W words of 64 concepts.
"""

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecg_base import UsageError, refuse_unknown
from ecg_ontology.graph.coded_records import CodedRecords
from ecg_ontology.graph.concepts import Concept, Kind, Relation, Rule

RULES: tuple[Rule, ...] = get_args(Rule)
NO_LEAF = -1
"""Primary leaf of a record without an active leaf."""


def multi_hot(records: CodedRecords, leaves: Sequence[Sequence[int]], n: int) -> NDArray[np.uint8]:
    """Return y (eq. y-multihot), uint8[B, N], from the leaves of each code in the vocabulary."""
    words = -(-n // 64)
    reached_VN = np.zeros((len(leaves) + 1, 64 * words), dtype=bool)  # the last code reaches nothing
    for row, reached in zip(reached_VN[:-1], leaves, strict=True):
        row[list(reached)] = True
    bits_VW = np.packbits(reached_VN, axis=1).view(np.uint64)
    starts_B = records.offsets[:-1]
    bits_BW = np.bitwise_or.reduceat(bits_VW[np.append(records.ids, -1)], starts_B, axis=0)
    bits_BW[starts_B == records.offsets[1:]] = 0  # `reduceat` gives an empty record the next code
    return np.unpackbits(bits_BW.view(np.uint8), axis=1, count=n)


def ranking(nodes: Sequence[Concept], relations: Sequence[Relation], rule: Rule) -> NDArray[np.int64]:
    """Return the rank of every concept under `rule`, int64[N]. The active leaf of highest rank is c*.

    - ``max-index`` (the paper's rule): the rank is the index.
    - ``most-specific``: yielding leaves (normal sinus rhythm) rank lowest. Other leaves are ranked by the
      longest path up over ``subtypeOf``, then by index.

    The paper's wording for ``most-specific`` is "maximal distance from any root", which is 1 for every leaf.
    The path over ``subtypeOf`` is the reading that distinguishes leaves.
    """
    refuse_unknown("selection rule", rule, RULES)
    if rule == "max-index":
        return np.arange(len(nodes), dtype=np.int64)
    depths = is_a_depths(len(nodes), relations)
    order = sorted(range(len(nodes)), key=lambda c: (not nodes[c].yields, depths[c], c))
    ranks = np.empty(len(nodes), dtype=np.int64)
    ranks[order] = np.arange(len(nodes))
    return ranks


def is_a_depths(n: int, relations: Sequence[Relation]) -> list[int]:
    """Return the number of ``subtypeOf`` steps on the longest path up from each concept."""
    parents: dict[int, list[int]] = {}
    for relation in relations:
        if relation.kind is Kind.subtype_of:
            parents.setdefault(relation.source, []).append(relation.target)
    depths = [0] * n
    for concept in TopologicalSorter(parents).static_order():  # parents first
        depths[concept] = max((depths[parent] + 1 for parent in parents.get(concept, ())), default=0)
    return depths


def active_leaves(y: ArrayLike, nodes: Sequence[Concept]) -> NDArray[np.bool_]:
    """Return the mask of active leaves, bool[B, N].

    Raises `UsageError` if `y` isn't [B, N], has values other than 0 and 1, or has an active root.
    """
    n = len(nodes)
    try:
        matrix = np.asarray(y)
    except ValueError as error:  # rows of different lengths
        raise UsageError(
            f"y must be a matrix ({error})", remedy=f"Give one row of {n} numbers each"
        ) from error
    if matrix.ndim != 2 or matrix.shape[1] != n:
        problem = f"y has shape {list(matrix.shape)}"
        raise UsageError(problem, remedy=f"Give one row of {n} numbers for each record")
    if matrix.dtype.kind not in "biuf":
        raise UsageError(f"y must contain numbers, got {matrix.dtype}")
    active_BN: NDArray[np.bool_] = matrix != 0
    strange_BN: NDArray[np.bool_] = matrix != active_BN
    if strange_BN.any():
        b, c = np.argwhere(strange_BN)[0]
        raise UsageError(f"y must contain only 0 and 1, got y[{b}, {c}] = {matrix[b, c]}")
    roots = [node.index for node in nodes if node.root]
    active_roots = active_BN[:, roots]
    if active_roots.any():
        root = nodes[roots[active_roots.any(axis=0).argmax()]]
        problem = f"y has the root {root.abbr} active (column {root.index})"
        raise UsageError(problem, remedy="Only leaves are targets; `leaf_multi_hot` leaves roots out")
    return active_BN


def primary(active_BN: NDArray[np.bool_], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return c*, int64[B]: the active leaf of highest rank, or `NO_LEAF` if no leaf is active."""
    place_N = (ranks + 1).astype(np.min_scalar_type(len(ranks)))  # starts at 1: 0 is a record without leaves
    leaf_by_place = np.append(NO_LEAF, ranks.argsort())
    # `max` is twice as fast over long columns as over short rows.
    place_NB = np.multiply(active_BN.T, place_N[:, None], order="C")
    c_star_B: NDArray[np.int64] = leaf_by_place.take(place_NB.max(axis=0))
    return c_star_B


def soft_targets(
    active_BN: NDArray[np.bool_],
    c_star: NDArray[np.int64],
    distances: NDArray[np.signedinteger],
    sigma: float,
) -> NDArray[np.float64]:
    """Return the clamped soft targets t, float64[B, N], from active leaves, c*, D_tree and σ > 0 in edges.

    A row starts as exp(-D[c*, ·]/σ). Every active leaf is raised to at least 1, and the row is divided by its
    sum. σ = ``inf`` gives the uniform distribution. A record without a leaf has a row of zeros, which
    excludes it from the loss.

    Source: Eq. gscl-target; appendix, "Treatment of non-primary active leaves".
    """
    if isinstance(sigma, str | bytes) or not sigma > 0:
        raise UsageError(f"sigma must be above 0, got {sigma!r}")
    with np.errstate(over="ignore"):  # for a tiny σ, D/σ may be infinite and the mass 0
        mass_by_distance = np.exp(-np.arange(distances.max() + 1) / sigma)
    mass_NN = mass_by_distance[distances]
    mass_with_none = np.vstack((mass_NN, np.zeros_like(mass_NN[:1])))  # the last row is for `NO_LEAF`
    t_BN: NDArray[np.float64] = mass_with_none.take(c_star, axis=0)
    np.putmask(t_BN, active_BN, 1.0)  # equals max(1, e^-D/σ), because e^-D/σ never exceeds 1
    total_B = np.einsum("bn->b", t_BN)  # three times as fast as `sum` for short rows
    total_B[c_star == NO_LEAF] = 1.0
    t_BN /= total_B[:, None]
    return t_BN
