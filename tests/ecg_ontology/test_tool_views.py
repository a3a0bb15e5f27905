"""Tools that look for a tree of classes see it: five roots, thirty-five edges, forty names."""

import json
import warnings

import networkx
import obonet
import owlready2
import pronto
import pyhornedowl
import pytest
import rdflib
from nxontology.imports import from_file
from rdflib.namespace import RDFS

import ecg_ontology
from ecg_ontology import Ontology, export
from ecg_ontology.graph.hierarchy import broader

FAMILIES = {"Normal", "Rhythm", "Conduction", "Ischemic", "Structural"}


def local(name):
    return str(name).rpartition("#")[2].rpartition(":")[2]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The packaged ontology in the forms of other tools."""
    folder, onto = tmp_path_factory.mktemp("views"), ecg_ontology.load()
    return {
        end: export(onto, folder / f"o.{end}") for end in ("obo", "classes.owl", "classes.jsonld", "fhir")
    }


@pytest.mark.parametrize("ending", ["obo", "classes.owl"])
def test_pronto_sees_five_roots(files, ending):
    with warnings.catch_warnings(action="ignore"):
        terms = list(pronto.Ontology(str(files[ending])).terms())
        above = {
            local(t.id): {local(s.id) for s in t.superclasses(with_self=False, distance=1)} for t in terms
        }
    assert {name for name, parents in above.items() if not parents} == FAMILIES
    assert (len(above), sum(map(len, above.values()))) == (40, 35)
    assert above["AF"] == {"Rhythm"}


def test_obonet_and_nxontology_see_five_roots(files):
    with warnings.catch_warnings(action="ignore"):
        graph, tree = obonet.read_obo(files["obo"]), from_file(str(files["obo"]))
    kinds = [(low, high) for low, high, kind in graph.edges(keys=True) if kind == "is_a"]
    assert (len(graph), len(kinds)) == (40, 35)
    assert {local(node) for node in set(graph) - {low for low, _ in kinds}} == FAMILIES
    assert {local(root) for root in tree.roots} == FAMILIES
    assert (
        tree.similarity("cardiac:AF", "cardiac:AFL").lin > tree.similarity("cardiac:AF", "cardiac:LBBB").lin
    )


def test_owl_tools_see_the_tree(files):
    read = pyhornedowl.open_ontology(str(files["classes.owl"]))
    assert len(read.get_classes()) == 40
    heart = owlready2.World()
    heart.get_ontology(f"file://{files['classes.owl']}").load()
    assert {each.name for each in heart.classes() if each.is_a == [owlready2.Thing]} == FAMILIES


def test_a_class_has_the_codes_that_mean_it_and_a_family_none_that_mean_its_leaves(files):
    with warnings.catch_warnings(action="ignore"):
        graph = rdflib.Graph().parse(files["classes.owl"])
    named = rdflib.URIRef("http://www.geneontology.org/formats/oboInOwl#hasDbXref")
    codes = {(local(concept), str(code).rpartition(":")[2]) for concept, code in graph.subject_objects(named)}
    assert {concept for concept, code in codes if code == "164889003"} == {"AF"}


def test_json_ld_has_the_same_tree(files):
    with warnings.catch_warnings(action="ignore"):
        graph = rdflib.Graph().parse(files["classes.jsonld"], format="json-ld")
    edges = list(graph.subject_objects(RDFS.subClassOf))
    assert len(edges) == 35
    assert {local(high) for _, high in edges} <= {local(low) for low, _ in edges} | FAMILIES


def test_no_export_says_that_an_anterior_infarction_is_both_acute_and_old(onto, files):
    above = broader(onto.draft)
    names = {
        onto.draft.abbreviation(iri): {local(each) for each in parents} for iri, parents in above.items()
    }
    assert names["AntMI"] == names["InfMI"] == {"Ischemic"}
    assert [concept.abbr for concept in onto.ancestors("AntMI")] == [
        "Ischemic",
        "AMI",
        "OMI",
    ]  # D and Â keep both
    assert "is_a: cardiac:OMI" not in files["obo"].read_text(encoding="utf-8")
    assert ecg_ontology.load(files["obo"]).sha256 == onto.sha256


def test_fhir_s_code_system_has_parents_and_its_value_sets_close_over_kinds(files):
    system = json.loads((files["fhir"] / "CodeSystem-cardiac.json").read_text(encoding="utf-8"))
    assert system["hierarchyMeaning"] == "is-a"
    parents = {
        concept["code"]: [each["valueCode"] for each in concept["property"] if each["code"] == "parent"]
        for concept in system["concept"]
    }
    assert {code for code, above in parents.items() if not above} == FAMILIES
    assert sum(map(len, parents.values())) == 35
    for code, above in parents.items():
        for parent in above:
            text = (files["fhir"] / f"ValueSet-cardiac-{parent}.json").read_text(encoding="utf-8")
            assert f"/ValueSet/{code}" in text


def test_a_finding_of_either_parent_stands_under_what_they_share():
    graph = networkx.DiGraph(
        [("Old", "Infarct"), ("Acute", "Infarct"), ("Infarct", "Heart"), ("Wall", "Old"), ("Wall", "Acute")]
    )
    onto = Ontology.from_networkx(graph, "https://example.org/heart")
    both = {local(parent) for parent in broader(onto.draft)["https://example.org/heart#Wall"]}
    assert both == {"Old", "Acute"}
    concepts = tuple(c.model_copy(update={"either_parent": c.abbr == "Wall"}) for c in onto.draft.concepts)
    either = broader(onto.draft.model_copy(update={"concepts": concepts}))
    assert {local(parent) for parent in either["https://example.org/heart#Wall"]} == {"Infarct"}
