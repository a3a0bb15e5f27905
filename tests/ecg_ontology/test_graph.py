"""The graph: hand values, networkx, and the golden matrix of the paper's edge lists."""

import hashlib
import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecg_ontology import Kind, Ontology, Relation
from ecg_ontology.base.errors import UnknownConceptError
from ecg_ontology.graph.graph import ConceptGraph
from ecg_ontology.graph.hierarchy import branches

RING = [0, 1, 2, 2, 1]  # steps along the ring from root 0


def slow_distances(n: int, edges: list[tuple[int, int]]) -> np.ndarray:
    """As networkx measures them, one pair at a time; what no path joins is 1 further than the furthest."""
    graph = nx.empty_graph(n)
    graph.add_edges_from(edges)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    table = np.array([[lengths[a].get(b, -1) for b in range(n)] for a in range(n)])
    table[table < 0] = table.max() + 1
    return table


def edges_of(onto: Ontology) -> list[tuple[int, int]]:
    return [(edge.source, edge.target) for edge in onto.relations]


def test_the_graph_has_forty_nodes_and_the_enumeration_of_the_paper(onto):
    abbreviations = " ".join(node.abbr for node in onto.nodes)
    assert abbreviations.startswith("Normal Rhythm Conduction Ischemic Structural AF ")
    assert [onto.nodes[i].abbr for i in (13, 25, 31, 34, 39)] == ["LBBB", "AntMI", "LowV", "NSR", "IRBBB"]
    assert onto.roots == tuple(range(5))
    assert onto.leaves == tuple(range(5, 40))


def test_the_57_edges_are_35_family_4_subtype_3_manifestation_10_sibling_and_5_ring_edges(onto):
    counts = Counter(edge.kind for edge in onto.relations)
    assert [counts[kind] for kind in (Kind.family, Kind.subtype_of, Kind.manifestation_of)] == [35, 4, 3]
    assert (counts[Kind.sibling], counts[Kind.ring], counts.total()) == (10, 5, 57)
    assert onto.adjacency.sum() == 2 * 57


def test_every_concept_has_three_text_variants_that_no_other_concept_has(onto):
    texts = [text.casefold() for node in onto.nodes for text in node.variants]
    assert all(len(node.variants) == 3 for node in onto.nodes)
    assert len(set(texts)) == 120


def test_the_distance_matrix_is_the_golden_one(onto):
    assert onto.distances.dtype == np.int8
    digest = hashlib.sha256(onto.distances.astype(np.uint8).tobytes()).hexdigest()
    assert digest == "4aa541b5e7fa410ff03f3b37af42fae76184d67165a7173a7a9f98d8c1389463"
    assert np.bincount(onto.distances.ravel()).tolist() == [40, 114, 358, 638, 450]


def test_the_distance_matrix_is_that_of_networkx(onto):
    edges = edges_of(onto)
    np.testing.assert_array_equal(onto.distances, slow_distances(40, edges))
    assert {frozenset(edge) for edge in onto.graph.networkx.edges} == {frozenset(edge) for edge in edges}


def test_two_leaves_lie_as_far_apart_as_the_closed_form_says(onto):
    family = {edge.source: edge.target for edge in onto.relations if edge.kind is Kind.family}
    joined = {frozenset(edge) for edge in edges_of(onto)}
    for a, b in itertools.permutations(onto.leaves, 2):
        if family[a] == family[b]:
            expected = 1 if frozenset((a, b)) in joined else 2
        else:
            expected = 2 + RING[(family[a] - family[b]) % 5]
        assert onto.distances[a, b] == expected, (a, b)


def test_a_hat_has_the_eigenvalues_trace_and_non_zeros_of_the_paper_s_graph(onto):
    eigenvalues = np.linalg.eigvalsh(onto.a_hat)
    assert eigenvalues[[0, -2, -1]] == pytest.approx([-0.38159, 0.96512, 1.0], abs=1e-5)
    assert np.count_nonzero(onto.a_hat) == 154
    assert np.trace(onto.a_hat) == pytest.approx(13.6417, abs=1e-4)
    degrees = onto.adjacency.sum(axis=1) + 1.0
    slow = np.diag(degrees**-0.5) @ (onto.adjacency + np.eye(40)) @ np.diag(degrees**-0.5)
    np.testing.assert_allclose(onto.a_hat, slow, atol=1e-15)


def test_nobody_can_write_into_the_matrices(onto):
    assert not any(matrix.flags.writeable for matrix in (onto.distances, onto.adjacency, onto.a_hat))


def test_a_path_is_shortest_and_names_both_ends(onto):
    assert onto.graph.path(25, 19) == [25, 19]
    assert onto.graph.path(5, 13) == [5, 1, 2, 13]


def test_a_concept_is_found_by_index_and_by_abbreviation_and_by_nothing_else(onto):
    assert onto.node("AntMI") is onto.node(25) is onto.node("25")
    for name in ("ANTMI", "40", -1, ""):
        with pytest.raises(UnknownConceptError):
            onto.node(name)


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    ends = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(ends, ends).filter(lambda e: e[0] != e[1]), max_size=30))


@given(graphs())
def test_any_graph_is_measured_as_networkx_measures_it(graph):
    n, edges = graph
    relations = [Relation(kind=Kind.sibling, source=a, target=b) for a, b in edges]
    distances = ConceptGraph(n, relations).distances
    np.testing.assert_array_equal(distances, slow_distances(n, edges))


def test_a_chain_longer_than_int8_counts_in_int16():
    chain = [Relation(kind=Kind.sibling, source=i, target=i + 1) for i in range(299)]
    distances = ConceptGraph(300, chain).distances
    assert distances.dtype == np.int16
    assert distances[0, 299] == 299


# --- what lies above and below a concept


def names(concepts):
    return [concept.abbr for concept in concepts]


def test_subtypes_are_below_their_parents_and_manifestations_are_not(onto):
    assert names(onto.descendants("AMI")) == ["AntMI", "InfMI"]
    assert onto.descendants("MyIsch") == ()
    assert names(onto.ancestors("STE")) == ["Ischemic"]


def test_the_ancestors_of_an_anterior_infarction_are_both_infarctions_and_their_family(onto):
    assert set(names(onto.ancestors("AntMI"))) == {"AMI", "OMI", "Ischemic"}
    assert onto.ancestors("Ischemic") == ()


def test_below_the_roots_lies_every_leaf_once(onto):
    below = [leaf.index for root in onto.roots for leaf in onto.descendants(root)]
    assert sorted(below) == list(onto.leaves)


def test_above_and_below_are_each_other_s_converse(onto):
    below = {(node, other) for node in onto.nodes for other in onto.descendants(node.index)}
    assert below == {(above, node) for node in onto.nodes for above in onto.ancestors(node.index)}


def test_the_tree_shows_a_subtype_under_each_parent_and_every_concept(onto):
    lines = [(line.depth, line.concept.abbr) for line in branches(onto.nodes, onto.relations, onto.roots)]
    under_roots = {name for depth, name in lines if depth == 1}
    assert {name for _, name in lines} == {node.abbr for node in onto.nodes}
    assert lines.count((2, "AntMI")) == 2
    assert "AntMI" not in under_roots
    subtypes = {edge.source for edge in onto.relations if edge.kind is Kind.subtype_of}
    assert len(under_roots) == len(onto.leaves) - len(subtypes)


def test_the_tree_of_one_concept_starts_with_it(onto):
    lines = [(line.depth, line.concept.abbr) for line in branches(onto.nodes, onto.relations, [19])]
    assert lines == [(0, "AMI"), (1, "AntMI"), (1, "InfMI")]
