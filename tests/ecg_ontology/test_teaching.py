"""What would teach wrongly is a finding or an error, by whatever way it comes."""

import numpy as np
import pytest
from tests.ecg_ontology.changes import edit, with_rows

import ecg_ontology
from ecg_base import InputError
from ecg_ontology.base.errors import SourceError
from ecg_ontology.checks import findings
from ecg_ontology.curation.revise import apply_decisions
from ecg_ontology.curation.routing_file import Decision

PREDICATES = ("exactMatch", "closeMatch", "relatedMatch", "narrowMatch", "broadMatch")


def decision(**changes):
    stated = {"decision": "add", "table": "base", "code": "icd10:I48.92", "label": "atrial flutter"}
    return Decision(**{**stated, "node": "AF", "reviewer": "A. Reviewer", "date": "2026-01-31", **changes})


def misnamed_codes(draft):
    return [finding.subject for finding in findings(draft) if finding.id == "CCG-E312"]


@pytest.mark.parametrize("predicate", PREDICATES)
def test_a_code_that_bears_a_sibling_s_name_is_an_error_under_every_predicate(onto, predicate):
    place = [(row.code, row.node) for row in onto.draft.mappings].index(("59118001", onto.node("RBBB").iri))
    rows = list(onto.draft.mappings)
    changes = {"node": onto.node("LBBB").iri, "node_label": "", "predicate": f"skos:{predicate}"}
    rows[place] = rows[place].model_copy(update=changes)
    assert misnamed_codes(onto.draft.model_copy(update={"mappings": tuple(rows)})) == ["59118001"]
    assert misnamed_codes(onto.draft) == []


def test_a_subtype_s_name_may_go_to_the_wider_leaf_by_broad_match_alone(onto):
    row = next(row for row in onto.draft.mappings if row.table == "base" and row.node)
    wider = row.model_copy(update={"code": "x:1", "label": "anterior MI", "node": onto.node("AMI").iri})
    for predicate, count in (("skos:broadMatch", 0), ("skos:closeMatch", 1)):
        draft = with_rows(onto.draft, wider.model_copy(update={"predicate": predicate}))
        assert len(misnamed_codes(draft)) == count


@pytest.mark.parametrize("predicate", ["", *(f"skos:{each}" for each in PREDICATES)])
def test_no_decision_adds_a_code_under_another_s_name(small, predicate):
    with pytest.raises(SourceError, match=r"has the name of AFL.*CCG-E312"):
        apply_decisions(small, [decision(predicate=predicate)])


@pytest.mark.parametrize("kind", ["add", "change", "remove"])
def test_what_the_paper_prints_is_not_decided(small, kind):
    with pytest.raises(InputError, match="it reproduces the paper"):
        apply_decisions(small, [decision(decision=kind, table="paper", code="698252002", node="Rhythm")])


def test_to_keep_what_the_paper_prints_changes_no_table(small):
    """A signed sheet holds its rows as well."""
    kept = decision(decision="keep", table="paper", code="698252002", node="Rhythm")
    files, _ = apply_decisions(small, [kept])
    assert files == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('ccg:textVariant "Sawtooth flutter waves"@en', 'ccg:textVariant "Atrial fibrillation"@en'),
        ('skos:altLabel "AFlut"@en', 'skos:altLabel "AF"@en'),
        ('"心房扑动"@zh', '"心房颤动"@zh'),
        ('skos:prefLabel "Atrial flutter"@en', 'skos:prefLabel "Atrial fibrillation"@en'),
    ],
)
def test_a_name_belongs_to_one_concept(small, old, new):
    edit(small / "cardiac.ttl", (old, new))
    assert {"AF, AFL"} == {f.subject for f in ecg_ontology.validate(small) if f.id == "CCG-E104"}


def test_a_control_character_in_a_comment_or_an_erratum_is_found(small):
    edit(small / "routing.sssom.tsv", ("the axis is no", "the axis is no\x1b"))
    edit(small / "errata.ttl", ("Nine within-family", "Nine within-family\\u001b"))
    assert {"39732003", "E01"} <= {f.subject for f in ecg_ontology.validate(small) if f.id == "CCG-E103"}


SAME = ("snomedct:164889003", "SCTID:164889003", "http://snomed.info/id/164889003", " 164889003 ")


@pytest.mark.parametrize("code", SAME)
def test_one_code_is_one_code_however_it_is_written(onto, code):
    assert onto.route(code).code == "164889003"
    np.testing.assert_array_equal(onto.leaf_multi_hot([[code]]), onto.leaf_multi_hot([["164889003"]]))
    assert onto.route("SCP:AFIB").leaves == onto.route("scp:AFIB").leaves == (5,)


def test_official_abbreviations_are_searched(onto):
    (hit,) = [hit for hit in ecg_ontology.search_concepts(onto, "LAD") if hit.matches[0].text == "LAD"]
    assert hit.matches[0].code == "39732003"
