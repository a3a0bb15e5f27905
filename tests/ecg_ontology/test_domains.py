"""Other domains: graphs of networkx become ontologies like any other."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecg_ontology
from ecg_base import EcgError, UsageError
from ecg_ontology import Kind, Ontology
from ecg_ontology.base.errors import UnknownConceptError
from ecg_ontology.formats.from_networkx import draft_from_networkx
from ecg_ontology.graph.hierarchy import branches

IRI = "https://example.org/lung"


@pytest.fixture
def lung():
    """Two families, a subtype of two parents, a ring."""
    graph = nx.DiGraph([("Asthma", "Airway"), ("COPD", "Airway"), ("ACO", "Asthma"), ("ACO", "COPD")])
    graph.add_edge("Pneumonia", "Tissue")
    graph.add_edge("Airway", "Tissue", kind="ring")
    return graph


def edges(onto):
    nodes = onto.nodes
    return {(edge.kind, nodes[edge.source].abbr, nodes[edge.target].abbr) for edge in onto.relations}


def test_a_hierarchy_of_networkx_becomes_families_and_subtypes(lung):
    onto = Ontology.from_networkx(lung, IRI, title="Lung")
    assert [onto.nodes[root].abbr for root in onto.roots] == ["Airway", "Tissue"]
    assert edges(onto) == {
        *((Kind.family, leaf, "Airway") for leaf in ("Asthma", "COPD", "ACO")),
        *((Kind.subtype_of, "ACO", parent) for parent in ("Asthma", "COPD")),
        *((Kind.family, "Pneumonia", "Tissue"), (Kind.ring, "Airway", "Tissue")),
    }


def test_a_finding_of_several_parents_has_all_of_them_above_it(lung):
    onto = Ontology.from_networkx(lung, IRI)
    assert {concept.abbr for concept in onto.ancestors("ACO")} == {"Asthma", "COPD", "Airway"}
    assert [line.concept.abbr for line in branches(onto.nodes, onto.relations, onto.roots)].count("ACO") == 2


def test_a_forest_without_a_ring_loads_and_its_families_stand_apart(tmp_path):
    forest = nx.DiGraph([("Asthma", "Airway"), ("Pneumonia", "Tissue")])
    onto = Ontology.from_networkx(forest, IRI)
    asthma, pneumonia = onto.node("Asthma").index, onto.node("Pneumonia").index
    # The largest distance, 1, and 1 more.
    assert onto.distances[asthma, pneumonia] == onto.distances.max() == 2
    assert onto.soft_targets(np.eye(4, dtype=int)[[asthma]]).sum() == pytest.approx(1)
    onto.save(tmp_path / "forest.json")
    rules = {finding.id for finding in ecg_ontology.validate(tmp_path / "forest.json")}
    assert rules == {"CCG-E101", "CCG-W013"}  # no text variants, and no ring
    forest.add_node("Alone", root=False)
    with pytest.raises(EcgError, match="Alone must have one family, got none"):
        Ontology.from_networkx(forest, IRI)


def test_nodes_say_what_they_are_called_and_numbered():
    graph = nx.Graph()
    graph.add_node(1, root=True, abbr="Air", label="Airway", index=0, variants=("b", "a"))
    graph.add_node(2, root=False, abbr="As", label="Asthma", index=1, synonyms=("wheeze",))
    graph.add_edge(1, 2)
    onto = Ontology.from_networkx(graph, IRI)
    assert onto.nodes[0].variants == ("a", "b")
    assert ecg_ontology.find_concept(onto, "wheeze").abbr == "As"
    assert edges(onto) == {(Kind.family, "As", "Air")}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda g: g.add_edge("Asthma", "COPD", kind="cousin"), "unknown kind of relation 'cousin'"),
        (lambda g: g.add_node("Airway", index="first"), "whole number from 0, got 'first'"),
        (lambda g: g.add_node("COPD", variants="abc"), "variants of the node 'COPD' must be a list"),
        (lambda g: g.add_node("COPD", synonyms="abc"), "synonyms of the node 'COPD' must be a list"),
        (lambda g: g.add_node("Alone", root=False), "Alone must have one family, got none"),
        (lambda g: g.add_edge("ACO", "Tissue"), "ACO must have one family, got Tissue and Airway"),
        (lambda g: g.add_edge("Airway", "Airway"), r"no (?:root|path|concept)|related to itself|family"),
    ],
)
def test_a_graph_that_is_no_concept_graph_is_refused(lung, change, says):
    change(lung)
    with pytest.raises(EcgError, match=says):
        Ontology.from_networkx(lung, IRI)


def test_an_undirected_graph_must_say_which_nodes_are_roots():
    with pytest.raises(EcgError, match="must have the attribute root"):
        draft_from_networkx(nx.Graph([(1, 2)]), IRI)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20))
def test_any_forest_of_one_parent_each_becomes_an_ontology(pairs):
    forest = nx.DiGraph()
    forest.add_nodes_from(range(13))
    for child, parent in pairs:
        if child > parent and forest.out_degree(child) == 0:
            forest.add_edge(child, parent)
    onto = Ontology.from_networkx(forest, IRI)
    assert len(onto) == 13
    assert len(onto.roots) == sum(degree == 0 for _, degree in forest.out_degree())


def test_what_names_an_ontology_is_a_name_and_a_version(lung):
    for about, problem in (
        (("", "1.0.0"), "must be an IRI, got ''"),
        ((IRI, "banana"), "must have three numbers such as 1.2.0, got 'banana'"),
    ):
        with pytest.raises(UsageError, match=problem):
            Ontology.from_networkx(lung, about[0], version=about[1])


def test_what_is_asked_for_in_the_wrong_way_is_answered_in_one_line(onto):
    for ask in (onto.node, lambda name: ecg_ontology.find_concept(onto, name)):
        with pytest.raises(UnknownConceptError) as error:
            ask("9" * 5000)
        assert len(str(error.value)) < 300
    with pytest.raises(UsageError, match="source must not be empty"):
        ecg_ontology.load("")
    with pytest.raises(UsageError, match="sigma must be above 0, got '1'"):
        onto.soft_targets(onto.leaf_multi_hot([[]]), sigma="1")
