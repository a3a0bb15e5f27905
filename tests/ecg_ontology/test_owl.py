"""The OWL view: individuals whose relations work, and what the reasoner says."""

import shutil

import pytest

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import Kind
from ecg_ontology.formats.turtle import SCHEMA
from ecg_ontology.graph.drafts import DraftRelation
from ecg_ontology.validation import owl


@pytest.fixture(scope="module")
def heart(onto):
    return owl.world(onto)


def test_the_world_holds_forty_individuals_of_two_classes(heart):
    assert len(owl.leaves(heart)) == 35
    assert len(list(heart[f"{SCHEMA}Concept"].instances())) == 40


def test_relations_work_from_both_sides_where_they_are_symmetric(heart, onto):
    second = owl.individual(heart, onto, "2AVB")
    assert {node.name for node in second.sibling} == {"1AVB", "3AVB"}
    assert second.family.name == "Conduction"  # functional: one value, no list
    assert {node.name for node in owl.individual(heart, onto, "AntMI").subtypeOf} == {"AMI", "OMI"}
    assert {node.name for node in owl.individual(heart, onto, 0).ring} == {"Rhythm", "Structural"}


def test_every_edge_of_the_graph_is_a_relation_of_the_individuals(heart, onto):
    for edge in onto.relations:
        value = getattr(owl.individual(heart, onto, edge.source), edge.kind)
        ends = value if isinstance(value, list) else [value]
        assert onto.nodes[edge.target].iri in {end.iri for end in ends}


def test_without_java_the_reasoner_says_what_is_missing(onto, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="needs Java"):
        owl.consistency(onto)


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java on the path: the reasoner cannot run")
def test_the_packaged_ontology_is_consistent_and_a_leaf_on_the_ring_is_not(onto, monkeypatch):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")  # a second is too short to optimise
    assert owl.consistency(onto) == ()
    broken = ecg_ontology.load()
    ring = DraftRelation(kind=Kind.ring, subject=onto.node("LowV").iri, object=onto.node("Rhythm").iri)
    broken.draft = broken.draft.model_copy(update={"relations": (*broken.draft.relations, ring)})
    assert [finding.id for finding in owl.consistency(broken)] == ["CCG-E601"]


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java on the path: the reasoner cannot run")
def test_what_the_reasoner_cannot_read_is_not_consistent(onto, tmp_path, monkeypatch):
    (tmp_path / "a b").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "a b"))
    with pytest.raises(UsageError, match="a b: the reasoner can't read"):
        owl.consistency(onto)
