"""Tools that look for a tree of concepts see it: five roots, thirty-five edges, forty names."""

import json

import networkx

from ecg_ontology import Ontology, export
from ecg_ontology.graph.hierarchy import broader

FAMILIES = {"Normal", "Rhythm", "Conduction", "Ischemic", "Structural"}


def local(name):
    return str(name).rpartition("#")[2].rpartition(":")[2]


def test_no_export_says_that_an_anterior_infarction_is_both_acute_and_old(onto):
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


def test_fhir_s_code_system_has_parents_and_its_value_sets_close_over_kinds(onto, tmp_path):
    folder = export(onto, tmp_path / "fhir")
    system = json.loads((folder / "CodeSystem-cardiac.json").read_text(encoding="utf-8"))
    assert system["hierarchyMeaning"] == "is-a"
    parents = {
        concept["code"]: [each["valueCode"] for each in concept["property"] if each["code"] == "parent"]
        for concept in system["concept"]
    }
    assert {code for code, above in parents.items() if not above} == FAMILIES
    assert sum(map(len, parents.values())) == 35
    for code, above in parents.items():
        for parent in above:
            text = (folder / f"ValueSet-cardiac-{parent}.json").read_text(encoding="utf-8")
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
