"""Where the concepts stand in a picture of the graph."""

import networkx as nx
import numpy as np

from ecg_ontology.concepts import Kind
from ecg_ontology.ontology import Ontology


def node_positions(onto: Ontology) -> dict[int, tuple[float, float]]:
    """Return where each concept stands, by index: x from −1.9 to 1.9, y from −1 to 1 upwards.

    Roots stand on an inner ellipse in ring order, each family's leaves fanned out beyond its root.

    Args:
        onto: the ontology.

    Example:
        >>> import ecg_ontology
        >>> x, y = node_positions(ecg_ontology.load())[5]
        >>> abs(x) <= 1.9 and abs(y) <= 1
        True
    """
    family = onto.families
    ring = _ring_order(onto)
    members = {
        root: _adjacent_leaves_together([leaf for leaf in onto.leaves if family[leaf] == root], onto)
        for root in ring
    }
    # A family's share of the circle grows with its leaves; a small one still gets room for its name.
    share = np.array([max(len(members[root]), 3) + 1.0 for root in ring])
    widths = share / share.sum() * 2 * np.pi
    positions: dict[int, tuple[float, float]] = {}
    for root, end, width in zip(ring, np.cumsum(widths), widths, strict=True):
        middle = end - width / 2
        positions[root] = (0.85 * float(np.cos(middle)), 0.42 * float(np.sin(middle)))
        for place, leaf in enumerate(members[root], start=1):
            angle = end - width * (1 - place / (len(members[root]) + 1))
            radius = 0.84 if place % 2 else 1.0
            positions[leaf] = (1.9 * radius * float(np.cos(angle)), radius * float(np.sin(angle)))
    return positions


def _adjacent_leaves_together(leaves: list[int], onto: Ontology) -> list[int]:
    """The leaves of a family in an order that keeps joined ones together."""
    joined = nx.Graph()
    joined.add_nodes_from(leaves)
    joined.add_edges_from(
        (e.source, e.target) for e in onto.relations if e.source in joined and e.target in joined
    )
    return [int(leaf) for leaf in nx.utils.cuthill_mckee_ordering(joined, heuristic=min)]


def _ring_order(onto: Ontology) -> list[int]:
    """Roots in the order of the ring, where it is one cycle; else by index."""
    ring = nx.Graph((edge.source, edge.target) for edge in onto.relations if edge.kind is Kind.ring)
    is_cycle = len(ring) > 2 and nx.is_connected(ring) and all(degree == 2 for _, degree in ring.degree)
    if is_cycle and set(ring) == set(onto.roots):
        return [int(node) for node in nx.dfs_preorder_nodes(ring, min(ring))]
    return list(onto.roots)
