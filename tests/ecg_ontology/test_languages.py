"""Labels in other languages, and English where there is none."""

from tests.ecg_ontology.changes import edit

import ecg_ontology
from ecg_ontology import label_in
from ecg_ontology.concepts import Name
from ecg_ontology.languages import language_notes, languages_of


def test_all_forty_concepts_have_a_label_in_four_languages_three_of_them_marked_as_unreviewed(onto):
    assert languages_of(onto) == {"en": 40, "de": 40, "es": 40, "zh": 40}
    for language in onto.header.unreviewed:
        assert len({label_in(node, language).text for node in onto.nodes}) == 40
        [note] = language_notes(onto, onto.nodes, language)
        assert note == f"the labels in {language!r} have not been reviewed clinically"


def test_a_region_falls_back_to_its_language_and_an_unknown_one_to_english(onto):
    af = onto.node("AF")
    assert label_in(af, "de-AT") == Name(text="Vorhofflimmern", language="de")
    assert label_in(af, "fr") == label_in(af) == Name(text="Atrial fibrillation", language="en")
    [note] = language_notes(onto, [af], "fr")
    assert "1 of 1 concepts" in note


def test_a_label_in_another_language_is_never_the_concept_s_label(onto, folder):
    changed = ecg_ontology.load(edit(folder / "cardiac.ttl", ("Vorhofflimmern", "AAA")))
    assert changed.node("AF").label == "Atrial fibrillation"
    assert label_in(changed.node("AF"), "de").text == "AAA"
    assert changed.sha256 == onto.sha256
