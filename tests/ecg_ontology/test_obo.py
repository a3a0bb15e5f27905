"""OBO out and in: what one side states, the other reads."""

import pytest
import rdflib
from tests.ecg_ontology.changes import with_concept

import ecg_ontology
from ecg_ontology import Kind, Relation, SourceError, UnknownConceptError, export, find_concept
from ecg_ontology.formats.sources import read_source
from ecg_ontology.formats.turtle import turtle_text
from ecg_ontology.graph.drafts import ForeignStatement

TERMS = r"""format-version: 1.2
data-version: releases/2026-02-03
ontology: lung

[Term]
id: L:1
name: airway

[Term]
id: L:2
name: chronic obstruction
def: "Airflow \"limitation\" ! not {reversible}" [PMID:123, https://example.org/a]
comment: ask \! twice
alt_id: L:9
xref: ICD10:J44
synonym: "COPD" EXACT []
synonym: "broad thing" BROAD []
synonym: "narrow thing" NARROW [L:1]
synonym: "some thing" RELATED []
is_a: L:1

[Term]
id: L:3
name: emphysema
is_a: L:2 ! chronic obstruction
relationship: sibling L:4 ! bronchitis
relationship: part_of L:1 ! airway

[Term]
id: L:4
name: bronchitis
is_a: L:2 ! chronic obstruction
relationship: sibling L:3 ! emphysema

[Term]
id: L:5
name: old obstruction
is_obsolete: true
"""


@pytest.fixture
def lung(tmp_path):
    path = tmp_path / "lung.obo"
    path.write_text(TERMS, encoding="utf-8")
    return path


def test_the_packaged_graph_comes_back_to_the_byte(onto, tmp_path):
    again = read_source(export(onto, tmp_path / "o.obo"))
    assert turtle_text(again) == turtle_text(onto.draft)


@pytest.mark.parametrize(
    ("stated", "version"), [("releases/2026-02", "2026.2.0"), ("v3", "3.0.0"), ("draft", "0.0.0")]
)
def test_a_version_of_fewer_than_three_numbers_is_filled_with_zeros(lung, stated, version):
    lung.write_text(TERMS.replace("releases/2026-02-03", stated), encoding="utf-8")
    assert ecg_ontology.load(lung).header.version == version


def test_an_obo_file_loads_as_an_ontology_without_its_obsolete_terms(lung):
    onto = ecg_ontology.load(lung)
    assert onto.header.version == "2026.2.3"
    assert [node.abbr for node in onto.nodes] == ["L:1", "L:2", "L:3", "L:4"]
    assert onto.nodes[1].iri == "http://purl.obolibrary.org/obo/L_2"
    assert Relation(kind=Kind.sibling, source=2, target=3) in onto.relations
    assert [concept.label for concept in onto.ancestors("L:3")] == ["airway", "chronic obstruction"]


def test_definition_comment_reference_and_old_identifier_are_kept_in_every_form(lung, tmp_path):
    onto = ecg_ontology.load(lung)
    node = onto.node("L:2")
    assert node.definition == 'Airflow "limitation" ! not {reversible}'
    assert node.sources == ("PMID:123", "https://example.org/a")
    for ending in (".ttl", ".obo"):
        again = ecg_ontology.load(export(onto, tmp_path / f"again{ending}"))
        assert set(again.draft.statements) == set(onto.draft.statements)
        assert (again.nodes, again.sha256) == (onto.nodes, onto.sha256)
        words = {s.predicate.rpartition("#")[2].rstrip(">"): s.object for s in again.draft.statements}
        assert (words["comment"], words["hasDbXref"]) == ('"ask ! twice"', '"ICD10:J44"')
        assert words["hasAlternativeId"] == '"L:9"'


def test_a_synonym_keeps_its_scope_and_a_broader_one_means_no_concept(lung):
    onto = ecg_ontology.load(lung)
    assert [name.text for name in onto.node("L:2").synonyms] == ["COPD"]
    assert find_concept(onto, "copd").abbr == "L:2"
    with pytest.raises(UnknownConceptError):
        find_concept(onto, "broad thing")
    scopes = {s.object: s.predicate for s in onto.draft.statements}
    assert scopes['"broad thing"@en'].endswith("#hasBroadSynonym>")
    assert scopes['"narrow thing"@en'].endswith("#hasNarrowSynonym>")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "describes no concept"),
        ("[Term]\nid: A:1\nname: a\nis_a: A:2\n", "names A:2, which isn't a term"),
        ("[Term]\nname: without an id\n", "isn't an OBO file"),
        ("no stanza\n", "isn't an OBO file|describes no concept"),
        (f"{TERMS}\n[Term]\nid: L:2\nname: another\n", "describes L:2 twice"),
    ],
)
def test_a_file_that_is_no_whole_obo_file_is_refused_in_one_line(lung, text, problem):
    lung.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=problem) as caught:
        ecg_ontology.load(lung)
    assert "\n" not in str(caught.value)


def test_strange_texts_and_statements_come_back(onto, tmp_path):
    text = 'a "quote", a ! mark, {braces}, a\ttab, a\nline and [brackets]'
    stated = [
        ForeignStatement(subject=f"<{onto.nodes[5].iri}>", predicate="<https://example.org/p>", object=each)
        for each in ('"plain ! {x}"', '"deutsch"@de', f'"5"^^<{rdflib.XSD.byte}>', "<urn:x>")
    ]
    draft = with_concept(onto.draft, "AF", label=text, definition=text)
    draft = draft.model_copy(update={"statements": tuple(stated)})
    again = read_source(export(ecg_ontology.Ontology(draft), tmp_path / "o.obo"))
    assert turtle_text(again) == turtle_text(draft)


def test_what_obo_cannot_hold_is_refused(onto, tmp_path):
    stranger = ForeignStatement(subject="<urn:stranger>", predicate="<urn:p>", object='"x"')
    draft = onto.draft.model_copy(update={"statements": (stranger,)})
    with pytest.raises(SourceError, match=r"urn:stranger> what OBO can't hold"):
        export(ecg_ontology.Ontology(draft), tmp_path / "o.obo")
    assert list(tmp_path.iterdir()) == []
