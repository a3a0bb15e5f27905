"""Concepts and codes are found by their words, however these are typed."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import ecg_ontology
from ecg_ontology import find_concept, search_concepts
from ecg_ontology.base.errors import UnknownConceptError
from ecg_ontology.base.text_folding import fold
from ecg_ontology.views.search import Field


def abbreviations(onto, words):
    return [hit.concept.abbr if hit.concept else hit.matches[0].code for hit in search_concepts(onto, words)]


def test_part_of_a_word_finds_the_concept_and_what_matched(onto):
    [first, second] = search_concepts(onto, "fibr")
    assert first.concept.abbr == "AF"
    assert (first.matches[0].field, first.matches[0].text) == (Field.label, "Atrial fibrillation")
    assert second.concept.abbr == "Rhythm"
    codes = {(match.field, match.code) for match in second.matches}
    assert codes == {(Field.code_label, code) for code in ("164896001", "195080001", "71908006")}


@pytest.mark.parametrize("typed", ["ISCHEMIA", "ischaemia", "Ischæmia", "isch", "myocardial-ischaemia"])
def test_case_accents_hyphens_and_spelling_make_no_difference(onto, typed):
    assert "MyIsch" in abbreviations(onto, typed)


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        *(
            ("verlängertes QT", ["LongQT"]),
            ("verlangertes qt", ["LongQT"]),
        ),
        *(
            ("54329005", ["AMI", "AntMI"]),
            ("left axis deviation", ["39732003"]),
            ("39732003", ["39732003"]),
            ("AF", ["AF"]),
        ),
        ("sinus rhythm", ["NSR"]),
    ],
)
def test_german_is_found_without_its_umlauts_a_code_by_its_leaves_and_a_whole_text_first(onto, typed, first):
    assert abbreviations(onto, typed)[: len(first)] == first


def test_a_code_finds_its_leaves_and_a_word_its_concepts_and_nothing_else(onto):
    assert abbreviations(onto, "54329005") == ["AMI", "AntMI"]
    assert abbreviations(onto, "Vergrosserung") == ["LAE", "RAE"]


def test_all_words_must_stand_in_one_text(onto):
    assert "AFL" in abbreviations(onto, "flutter atrial")
    assert "AF" not in abbreviations(onto, "atrial sawtooth")


def test_nothing_is_found_by_no_words_and_by_strange_ones(onto):
    assert search_concepts(onto, " - ") == search_concepts(onto, "qwxyz") == ()


NAMES = [
    5,
    "5",
    "AF",
    "af",
    "Atrial Fibrillation",
    "a fib",
    "VORHOFFLIMMERN",
    "164889003",
    "I4891",
    "42731",
    "icd9cm:42731",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_concept_answers_to_every_one_of_its_names(onto, name):
    assert find_concept(onto, name).abbr == "AF"


def test_every_concept_is_found_by_each_of_its_names_unless_two_share_it(onto):
    for node in onto.nodes:
        assert find_concept(onto, node.label.upper()) == node
        assert find_concept(onto, node.abbr.lower()) == node
        assert find_concept(onto, node.translations[0].text) == node


def test_a_name_that_means_several_or_none_says_what_was_perhaps_meant(onto):
    for name, message in {
        "atrial fibrilation": r"Did you mean AF \(Atrial fibrillation\)",
        "infarct": "Did you mean .*AMI .*InfMI",
        "block": r"Did you mean LBBB([^,]*, ){4}2AVB \([^,]*\)\?$",
        "39732003": "routed to no concept: the axis",
    }.items():
        with pytest.raises(UnknownConceptError, match=message):
            find_concept(onto, name)
    with pytest.raises(UnknownConceptError, match="Did you mean LBBB"):
        onto.node("LBB")


@given(st.text())
@example("𝕬ℝ")
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=12))
def test_a_search_never_fails(text):
    for hit in search_concepts(ecg_ontology.load(), text):
        assert hit.matches


@pytest.mark.parametrize(("code", "abbr"), [("I48.91", "AF"), ("icd10cm:I44.7", "LBBB"), ("aha:106", "RBBB")])
def test_a_code_of_another_system_finds_its_concept(onto, code, abbr):
    assert search_concepts(onto, code)[0].concept.abbr == abbr
