"""Compute the training targets of many records (paper, "Primary Positive Concept Selection").

The targets of a record are the 0/1 vector y of its active leaves (concepts of its findings), the primary
concept c* among these leaves, and the soft target t, a distribution over all concepts that decreases with the
distance to c*. The other active leaves get the same mass as c*.

Shapes: B records, N concepts, V codes of a vocabulary and an empty code, W words of 64 concepts.
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
"""Value of c* for a record without an active leaf."""


def multi_hot(records: CodedRecords, leaves: Sequence[Sequence[int]], n: int) -> NDArray[np.uint8]:
    """Return y with 1 for each leaf that the codes of a record reach (paper, eq. y-multihot), uint8[B, N].

    Args:
        records: codes of the records.
        leaves: indices of the leaves that each code in `records.vocabulary` reaches.
        n: number of concepts.
    """
    words = -(-n // 64)
    reached_VN = np.zeros((len(leaves) + 1, 64 * words), dtype=bool)  # the last row is the empty code
    for row, reached in zip(reached_VN[:-1], leaves, strict=True):
        row[list(reached)] = True
    bits_VW = np.packbits(reached_VN, axis=1).view(np.uint64)
    starts_B = records.offsets[:-1]
    bits_BW = np.bitwise_or.reduceat(bits_VW[np.append(records.ids, -1)], starts_B, axis=0)
    bits_BW[starts_B == records.offsets[1:]] = 0  # for an empty record, `reduceat` returns the next code
    return np.unpackbits(bits_BW.view(np.uint8), axis=1, count=n)


def ranking(nodes: Sequence[Concept], relations: Sequence[Relation], rule: Rule) -> NDArray[np.int64]:
    """Return the rank of every concept, int64[N]. The active leaf with the highest rank is c*.

    - ``max-index`` (the paper's rule): the rank is the index.
    - ``most-specific``: leaves with `Concept.yields` (normal sinus rhythm) have the lowest ranks. Other
      leaves are ranked by the length of their longest path over ``subtypeOf``, then by index.

    The paper defines ``most-specific`` as "maximal distance from any root", but this distance is 1 for every
    leaf. So the length of the path over ``subtypeOf`` is used here.
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
    """Return the length of the longest upward path over ``subtypeOf`` from each concept."""
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

    Raises `UsageError` if `y` isn't [B, N], has values other than 0 and 1, or has a 1 in the column of a
    family (root).
    """
    n = len(nodes)
    try:
        matrix = np.asarray(y)
    except ValueError as error:  # rows of different lengths
        raise UsageError(
            f"y must be a matrix ({error})", remedy=f"Give a row of {n} numbers for each record"
        ) from error
    if matrix.ndim != 2 or matrix.shape[1] != n:
        problem = f"y must have shape [records, {n}], got {list(matrix.shape)}"
        raise UsageError(problem, remedy=f"Give a row of {n} numbers for each record")
    if matrix.dtype.kind not in "biuf":
        raise UsageError(f"y must contain numbers, got {matrix.dtype}")
    active_BN: NDArray[np.bool_] = matrix != 0
    invalid_BN: NDArray[np.bool_] = matrix != active_BN
    if invalid_BN.any():
        b, c = np.argwhere(invalid_BN)[0]
        raise UsageError(f"y must contain only 0 and 1, got y[{b}, {c}] = {matrix[b, c]}")
    roots = [node.index for node in nodes if node.root]
    active_roots = active_BN[:, roots]
    if active_roots.any():
        root = nodes[roots[active_roots.any(axis=0).argmax()]]
        problem = f"only leaves may be active in y, got the root {root.abbr} (column {root.index})"
        raise UsageError(problem, remedy="Make y with `leaf_multi_hot`, which ignores roots")
    return active_BN


def primary(active_BN: NDArray[np.bool_], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return c*, int64[B]: the active leaf with the highest rank, or `NO_LEAF` if no leaf is active."""
    rank_N = (ranks + 1).astype(np.min_scalar_type(len(ranks)))  # starts at 1, because 0 means no leaf
    leaf_by_rank = np.append(NO_LEAF, ranks.argsort())
    # `max` is twice as fast over long columns as over short rows.
    rank_NB = np.multiply(active_BN.T, rank_N[:, None], order="C")
    c_star_B: NDArray[np.int64] = leaf_by_rank.take(rank_NB.max(axis=0))
    return c_star_B


def soft_targets(
    active_BN: NDArray[np.bool_],
    c_star: NDArray[np.int64],
    distances: NDArray[np.signedinteger],
    sigma: float,
) -> NDArray[np.float64]:
    """Return the clamped soft targets t, float64[B, N].

    A row starts as exp(-distances[c*, ·]/σ). Every active leaf is set to 1, and the row is divided by its
    sum. A record without a leaf has a row of zeros, which excludes the record from the loss. Source: eq.
    gscl-target, and the paper's appendix, "Treatment of non-primary active leaves".

    Args:
        active_BN: mask of the active leaves.
        c_star: index of each record's primary concept, or `NO_LEAF`.
        distances: number of edges on a shortest path between every two concepts, [N, N].
        sigma: temperature σ in edges, above 0. ``inf`` gives the uniform distribution.
    """
    if isinstance(sigma, str | bytes) or not sigma > 0:
        raise UsageError(f"sigma must be above 0, got {sigma!r}")
    with np.errstate(over="ignore"):  # if σ is tiny, D/σ is infinite and the mass is 0
        mass_by_distance = np.exp(-np.arange(distances.max() + 1) / sigma)
    mass_NN = mass_by_distance[distances]
    mass_with_none = np.vstack((mass_NN, np.zeros_like(mass_NN[:1])))  # the last row is for `NO_LEAF`
    t_BN: NDArray[np.float64] = mass_with_none.take(c_star, axis=0)
    np.putmask(t_BN, active_BN, 1.0)  # 1 is max(1, e^-D/σ), because e^-D/σ is at most 1
    total_B = np.einsum("bn->b", t_BN)  # three times as fast as `sum` for short rows
    total_B[c_star == NO_LEAF] = 1.0
    t_BN /= total_B[:, None]
    return t_BN
