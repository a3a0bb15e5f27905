"""Every concept is defined by published sources and named in four languages; English stands in for others."""

from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_ontology import export
from ecg_ontology.formats.sources import read_source
from ecg_ontology.graph.concepts import Name
from ecg_ontology.views.languages import label_in, language_notes, languages_of


def test_every_concept_has_a_definition_of_its_own_with_a_published_source(onto):
    texts = [node.definition for node in onto.nodes]
    assert len(set(texts)) == len(onto)
    assert all(text.endswith(".") and 40 < len(text) < 300 for text in texts)
    assert all(node.sources for node in onto.nodes)
    assert all(source.startswith("https://doi.org/10.") for node in onto.nodes for source in node.sources)


def test_a_definition_moves_neither_the_hash_that_a_checkpoint_carries_nor_a_text_variant(onto):
    nothing = {"definition": "", "sources": ()}
    concepts = tuple(concept.model_copy(update=nothing) for concept in onto.draft.concepts)
    bare = ecg_ontology.Ontology(onto.draft.model_copy(update={"concepts": concepts}))
    assert bare.sha256 == onto.sha256
    assert [node.variants for node in bare.nodes] == [node.variants for node in onto.nodes]


def test_a_second_definition_and_a_source_that_is_a_text_are_kept_as_they_are(onto, tmp_path):
    path = export(onto, tmp_path / "o.ttl")
    text = path.read_text(encoding="utf-8")
    more = 'skos:definition "Zwei"@de , "zz"@en ; dcterms:source "a book" ;\n    skos:notation "AF" ;'
    path.write_text(text.replace('skos:notation "AF" ;', more), encoding="utf-8")
    af = next(concept for concept in read_source(path).concepts if concept.abbr == "AF")
    assert af.definition == onto.node("AF").definition
    again = export(ecg_ontology.load(path), tmp_path / "again.ttl").read_text(encoding="utf-8")
    assert all(each in again for each in ('"Zwei"@de', '"zz"@en', '"a book"'))


def test_all_forty_concepts_have_a_label_in_eight_languages_seven_of_them_marked_as_unreviewed(onto):
    assert languages_of(onto) == dict.fromkeys(("en", "de", "es", "fr", "it", "nl", "pt", "zh"), 40)
    for language in onto.header.unreviewed:
        assert len({label_in(node, language).text for node in onto.nodes}) == 40
        [note] = language_notes(onto, onto.nodes, language)
        assert note == f"the labels in {language!r} have not been reviewed clinically"


def test_a_region_falls_back_to_its_language_and_an_unknown_one_to_english(onto):
    af = onto.node("AF")
    assert label_in(af, "de-AT") == Name(text="Vorhofflimmern", language="de")
    assert label_in(af, "ja") == label_in(af) == Name(text="Atrial fibrillation", language="en")
    [note] = language_notes(onto, [af], "ja")
    assert "1 of 1 concepts" in note


def test_a_label_in_another_language_is_never_the_concept_s_label(onto, folder):
    changed = ecg_ontology.load(edit(folder / "cardiac.ttl", ("Vorhofflimmern", "AAA")))
    assert changed.node("AF").label == "Atrial fibrillation"
    assert label_in(changed.node("AF"), "de").text == "AAA"
    assert changed.sha256 == onto.sha256
