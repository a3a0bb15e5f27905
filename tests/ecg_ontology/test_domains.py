"""Other domains: graphs of networkx and OBO files become ontologies like any other."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecg_ontology
from ecg_ontology import EcgError, Kind, Ontology, UsageError
from ecg_ontology.domains import draft_from_networkx
from ecg_ontology.hierarchy import branches

IRI = "https://example.org/lung"
OBO = """format-version: 1.2
data-version: releases/2026-02-03
ontology: lung

[Term]
id: LU:1
name: airway disease

[Term]
id: LU:2
name: asthma
synonym: "bronchial asthma" EXACT []
is_a: LU:1 ! airway disease

[Term]
id: LU:3
name: allergic asthma
is_a: LU:2 ! asthma
relationship: sibling LU:4 ! exercise asthma
relationship: part_of LU:1 ! airway disease

[Term]
id: LU:4
name: exercise asthma
is_a: LU:2 ! asthma
relationship: sibling LU:3 ! allergic asthma

[Term]
id: LU:5
name: old asthma
is_obsolete: true
"""


@pytest.fixture
def lung():
    """Two families, a subtype of two parents, a ring."""
    graph = nx.DiGraph([("Asthma", "Airway"), ("COPD", "Airway"), ("ACO", "Asthma"), ("ACO", "COPD")])
    graph.add_edge("Pneumonia", "Tissue")
    graph.add_edge("Airway", "Tissue", kind="ring")
    return graph


def edges(onto):
    return {
        (edge.kind, onto.nodes[edge.source].abbr, onto.nodes[edge.target].abbr) for edge in onto.relations
    }


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


def test_distances_are_those_that_networkx_finds(lung):
    onto = Ontology.from_networkx(lung, IRI)
    lung.add_edge("ACO", "Airway")  # its family, which its parents brought
    lengths = dict(nx.all_pairs_shortest_path_length(nx.Graph(lung)))
    names = [node.abbr for node in onto.nodes]
    assert onto.distances.tolist() == [[lengths[a][b] for b in names] for a in names]


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
        (lambda g: g.add_edge("Asthma", "COPD", kind="cousin"), "kind 'cousin'"),
        (lambda g: g.add_node("Airway", index="first"), "index 'first'"),
        (lambda g: g.add_node("COPD", variants="abc"), "the variants of the node 'COPD' are one text"),
        (lambda g: g.add_node("COPD", synonyms="abc"), "the synonyms of the node 'COPD' are one text"),
        (lambda g: g.add_node("Alone", root=False), "Alone should have one family and has none"),
        (lambda g: g.add_edge("ACO", "Tissue"), "ACO should have one family and has Tissue and Airway"),
        (lambda g: g.add_edge("Airway", "Airway"), r"no (?:root|path|concept)|related to itself|family"),
    ],
)
def test_a_graph_that_is_no_concept_graph_is_refused(lung, change, says):
    change(lung)
    with pytest.raises(EcgError, match=says):
        Ontology.from_networkx(lung, IRI)


def test_an_undirected_graph_must_say_which_nodes_are_roots():
    with pytest.raises(EcgError, match="does not say whether it is a root"):
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


def test_an_obo_file_loads_as_an_ontology_and_survives_as_canonical_turtle(tmp_path):
    (tmp_path / "lung.obo").write_text(OBO, encoding="utf-8")
    onto = ecg_ontology.load(tmp_path / "lung.obo")
    assert onto.header.version == "2026.2.3"
    assert [node.abbr for node in onto.nodes] == ["LU:1", "LU:2", "LU:3", "LU:4"]
    assert onto.nodes[1].iri == "http://purl.obolibrary.org/obo/LU_2"
    assert ecg_ontology.find_concept(onto, "bronchial asthma").label == "asthma"
    assert (Kind.sibling, "LU:3", "LU:4") in edges(onto)
    assert [concept.label for concept in onto.ancestors("LU:3")] == ["airway disease", "asthma"]
    back = ecg_ontology.load(ecg_ontology.export(onto, tmp_path / "lung.ttl"))
    assert back.sha256 == onto.sha256
    assert [node.synonyms for node in back.nodes] == [node.synonyms for node in onto.nodes]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "describes no concept"),
        ("[Term]\nid: A:1\nname: a\nis_a: A:2\n", "names A:2, which isn't a term"),
        ("[Term]\nname: without an id\n", "isn't an OBO file"),
        ("no stanza\n", "isn't an OBO file|describes no concept"),
    ],
)
def test_a_file_that_is_no_whole_obo_file_is_refused_in_one_line(tmp_path, text, says):
    (tmp_path / "bad.obo").write_text(text, encoding="utf-8")
    with pytest.raises(EcgError, match=says) as caught:
        ecg_ontology.load(tmp_path / "bad.obo")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("about", "problem"),
    [({"iri": ""}, "'' isn't an IRI"), ({"version": "banana"}, "'banana' isn't a version")],
)
def test_what_names_an_ontology_is_a_name_and_a_version(lung, about, problem):
    with pytest.raises(UsageError, match=problem):
        Ontology.from_networkx(lung, **{"iri": IRI, **about})


def test_what_is_asked_for_in_the_wrong_way_is_answered_in_one_line(onto):
    for ask in (onto.node, lambda name: ecg_ontology.find_concept(onto, name)):
        with pytest.raises(ecg_ontology.UnknownConceptError) as error:
            ask("9" * 5000)
        assert len(str(error.value)) < 300
    with pytest.raises(UsageError, match="no source is named"):
        ecg_ontology.load("")
    with pytest.raises(UsageError, match="sigma is '1'"):
        onto.soft_targets(onto.leaf_multi_hot([[]]), sigma="1")
