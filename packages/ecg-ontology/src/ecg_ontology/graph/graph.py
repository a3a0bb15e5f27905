"""Compute the matrices of the graph: distances D_tree, adjacency A and normalised adjacency Â.

They are defined in the paper's sections "Tree-Distance Matrix" and "Edge set".

Shapes: N concepts.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ecg_ontology.graph.concepts import Relation

ArrayT = TypeVar("ArrayT", bound=NDArray[Any])


class ConceptGraph:
    """Undirected, immutable graph of N concepts. Edges have no kind.

    Args:
        n: number of concepts.
        relations: the edges. Several relations between two concepts become a single edge.

    Example:
        >>> from ecg_ontology import Kind, Relation
        >>> path = ConceptGraph(3, [Relation(kind=Kind.ring, source=0, target=1),
        ...                         Relation(kind=Kind.ring, source=1, target=2)])
        >>> path.distances.tolist()
        [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """

    def __init__(self, n: int, relations: Iterable[Relation]) -> None:
        self.n = n
        self._edges = sorted({(relation.source, relation.target) for relation in relations})

    @cached_property
    def networkx(self) -> "nx.Graph[int]":
        """Frozen `networkx.Graph`, for paths, layouts and further analysis."""
        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(self.n))
        graph.add_edges_from(self._edges)
        return nx.freeze(graph)

    @cached_property
    def adjacency(self) -> NDArray[np.uint8]:
        """Adjacency A ∈ {0,1}, uint8[N, N], symmetric and without self-loops."""
        adjacency = np.zeros((self.n, self.n), dtype=np.uint8)
        if self._edges:
            sources, targets = np.array(self._edges).T
            adjacency[sources, targets] = adjacency[targets, sources] = 1
        np.fill_diagonal(adjacency, 0)
        return _frozen(adjacency)

    @cached_property
    def a_hat(self) -> NDArray[np.float64]:
        """Normalised adjacency Â = D^-1/2 (A + I) D^-1/2, float64[N, N]. D has the degrees of A + I."""
        with_loops = self.adjacency + np.eye(self.n)
        scale = 1.0 / np.sqrt(with_loops.sum(axis=1))
        return _frozen(scale[:, None] * with_loops * scale[None, :])

    @cached_property
    def distances(self) -> NDArray[np.signedinteger]:
        """D_tree, the number of edges on a shortest path: int8[N, N], or int16 for distances above 127.

        Concepts without a path between them have the largest distance + 1.
        """
        return _frozen(_distances(self.networkx))

    def path(self, source: int, target: int) -> list[int]:
        """Return a shortest path including both ends, or [] if there is no path.

        If there are several shortest paths, the path with the smallest indices is returned.

        Args:
            source: index of the first concept.
            target: index of the last concept.
        """
        if not nx.has_path(self.networkx, source, target):
            return []
        return min(nx.all_shortest_paths(self.networkx, source, target))


def _distances(graph: "nx.Graph[int]") -> NDArray[np.signedinteger]:
    n = len(graph)
    distances = np.full((n, n), -1, dtype=np.int16)
    for source, lengths in nx.all_pairs_shortest_path_length(graph):
        distances[source, list(lengths)] = list(lengths.values())
    distances[distances < 0] = distances.max() + 1
    return distances.astype(np.int8) if distances.max() <= np.iinfo(np.int8).max else distances


def _frozen(array: ArrayT) -> ArrayT:
    array.setflags(write=False)
    return array
