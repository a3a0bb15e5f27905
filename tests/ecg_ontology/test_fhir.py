"""FHIR R4: resources that the models of the standard accept, and that say what the ontology says."""

import json
from collections import Counter

import pytest
from fhir.resources.R4B.codesystem import CodeSystem
from fhir.resources.R4B.conceptmap import ConceptMap
from fhir.resources.R4B.valueset import ValueSet
from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_ontology import Ontology, export
from ecg_ontology.base.errors import SourceError
from ecg_ontology.formats.sources import read_source
from ecg_ontology.views.fhir import resources

MODELS = {"CodeSystem": CodeSystem, "ValueSet": ValueSet, "ConceptMap": ConceptMap}


@pytest.fixture(scope="module")
def stated(onto):
    return {(each["resourceType"], each["id"]): each for each in resources(onto)}


@pytest.mark.parametrize("profile", ["paper", "curated"])
def test_fhir_resources_accepts_every_file_of_the_export(profile, tmp_path):
    onto = ecg_ontology.load(profile=profile)
    paths = export(onto, tmp_path / "fhir").iterdir()
    stated = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    kinds = Counter(type(MODELS[each["resourceType"]].model_validate(each)) for each in stated)
    assert kinds == {CodeSystem: 1, ValueSet: 40, ConceptMap: 10}


def test_the_code_system_has_every_concept_with_definition_and_edges(onto, stated):
    concepts = {each["code"]: each for each in stated["CodeSystem", "cardiac"]["concept"]}
    assert list(concepts) == [node.abbr for node in onto.nodes]
    assert all(each["definition"] for each in concepts.values())
    edges = {(each["code"], each.get("valueCode")) for each in concepts["AntMI"]["property"]}
    assert {("family", "Ischemic"), ("subtypeOf", "AMI"), ("subtypeOf", "OMI"), ("sibling", "InfMI")} <= edges
    others = {(each["code"], each.get("valueCode")) for each in concepts["AMI"]["property"]}
    assert ("subtypeOf", "AntMI") not in others


def test_a_concept_map_says_of_each_code_how_wide_the_concept_is(onto, stated):
    def targets(vocabulary, code):
        [group] = stated["ConceptMap", f"cardiac-{vocabulary}"]["group"]
        [element] = [each for each in group["element"] if each["code"] == code]
        return [(each.get("code"), each["equivalence"]) for each in element["target"]]

    assert targets("snomed", "426177001") == [("SBrad", "equivalent"), ("Rhythm", "wider")]
    assert targets("snomed", "39732003") == [(None, "unmatched")]
    assert targets("icd10cm", "I48.91") == [("AF", "inexact")]
    assert targets("icd10", "I48.9") == [("AF", "narrower"), ("AFL", "narrower")]
    assert targets("aha", "106") == [("RBBB", "equivalent")]
    codes = [each["code"] for each in stated["ConceptMap", "cardiac-snomed"]["group"][0]["element"]]
    assert set(codes) == {code for code in onto.codes if code.isdecimal()}


def test_a_value_set_holds_the_codes_of_a_leaf_and_that_of_a_family_its_leaves(onto, stated):
    codes = {
        (include["system"], each["code"])
        for include in stated["ValueSet", "cardiac-AF"]["compose"]["include"]
        for each in include["concept"]
    }
    assert {("http://snomed.info/sct", "164889003"), ("http://hl7.org/fhir/sid/icd-10-cm", "I48.91")} <= codes
    assert ("http://hl7.org/fhir/sid/icd-10", "I48.9") not in codes  # or flutter
    family = stated["ValueSet", "cardiac-Rhythm"]["compose"]["include"]
    assert {"valueSet": [f"{onto.header.iri}/ValueSet/AF"]} in family


def test_a_crosswalk_supervises_nothing_and_says_that_nobody_reviewed_it(onto):
    rows = onto.draft.crosswalks
    assert {row.code for row in rows} & set(onto.codes) == set()
    assert onto.route("icd10cm:I48.91").nodes == ()
    assert all("not reviewed clinically" in row.reason for row in rows if not row.author)
    bare = Ontology(onto.draft.model_copy(update={"crosswalks": ()}))
    assert (bare.rows, bare.codes, bare.sha256) == (onto.rows, onto.codes, onto.sha256)


def test_a_crosswalk_row_without_a_concept_or_its_regime_is_refused(sources, tmp_path):
    for name in ("cardiac.ttl", "crosswalk.icd10.sssom.tsv"):
        (tmp_path / name).write_bytes((sources / name).read_bytes())
    assert read_source(tmp_path).crosswalks
    table = edit(tmp_path / "crosswalk.icd10.sssom.tsv", ("cardiac:AF\t", "cardiac:AFF\t"))
    [finding] = [f for f in ecg_ontology.validate(tmp_path) if "AFF" in f.message]
    assert finding.where.startswith("crosswalk.icd10.sssom.tsv:")
    edit(table, ("cardiac:AFF\t", "cardiac:AF\t"), ("regime: crosswalk", "regime: single morphology"))
    with pytest.raises(SourceError, match=r"crosswalk\.icd10\.sssom\.tsv:\d+"):
        read_source(tmp_path)
