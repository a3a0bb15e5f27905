"""`ecgonto search`, `show`, `tree`: concepts by their words."""

import json

import pytest


def test_a_search_says_what_matched(call_ecgonto):
    code, out, _ = call_ecgonto("search", "FIBR")
    assert code == 0
    assert out.startswith("AF (5)  Atrial fibrillation\n    Atrial activation without order: ")
    assert out.splitlines()[2] == "    label: Atrial fibrillation"
    found = json.loads(call_ecgonto("search", "fibr", "--format", "json")[1])
    assert found[0]["concept"]["abbr"] == "AF"
    assert set(found[0]["matches"][0]) == {"field", "text", "code", "language"}


def test_a_search_without_a_hit_exits_1_and_says_what_is_spelt_alike(call_ecgonto):
    code, out, err = call_ecgonto("search", "atrial", "fluter")
    assert (code, out) == (1, "")
    assert "Did you mean AFL (Atrial flutter)" in err
    assert call_ecgonto("search", "qwxyz", "-q")[2] == "nothing matches 'qwxyz'\n"


@pytest.mark.parametrize("name", ["af", "Atrial Fibrillation", "vorhofflimmern", "164889003"])
def test_show_takes_every_name_of_a_concept(call_ecgonto, name):
    assert call_ecgonto("show", name)[1].startswith("AF (5)  Atrial fibrillation")


def test_a_misspelt_name_exits_2_with_what_was_meant(call_ecgonto):
    for command in ("show", "tree"):
        code, out, err = call_ecgonto(command, "atrial fibrilation")
        assert (code, out) == (2, "")
        assert "Did you mean AF (Atrial fibrillation)" in err


def test_the_tree_shows_subtypes_below_their_parents(call_ecgonto):
    assert call_ecgonto("tree", "AMI")[1].splitlines() == [
        "above: Ischemic",
        "AMI  Acute myocardial infarction",
        "  AntMI  Anterior MI",
        "  InfMI  Inferior MI",
    ]
    assert len(json.loads(call_ecgonto("tree", "--format", "json")[1])["tree"]) == 42


def test_labels_are_german_on_demand_and_marked_as_unreviewed_on_stderr(call_ecgonto):
    code, out, err = call_ecgonto("show", "--lang", "de")
    assert code == 0
    assert "Vorhofflimmern" in out
    assert "have not been reviewed clinically" in err


def test_english_stands_in_for_a_language_that_is_not_there_and_it_is_said(call_ecgonto):
    code, out, err = call_ecgonto("tree", "AMI", "--lang", "fr")
    assert code == 0
    assert "Acute myocardial infarction" in out
    assert "English is shown" in err
