"""`ecgonto search`, `show`, `tree`: concepts by their words."""

import json

import pytest
from tests.cli.calls import call

import ecg_ontology


def test_a_search_says_what_matched():
    code, out, _ = call("search", "FIBR")
    assert code == 0
    assert out.startswith("AF (5)  Atrial fibrillation\n    Atrial activation without order: ")
    assert out.splitlines()[2] == "    label: Atrial fibrillation"
    first, _ = json.loads(call("search", "fibr", "--format", "json")[1])
    assert first["concept"]["abbr"] == "AF"
    assert set(first["matches"][0]) == {"field", "text", "code", "language"}


def test_a_search_without_a_hit_exits_1_and_says_what_is_spelt_alike():
    code, out, err = call("search", "atrial", "fluter")
    assert (code, out) == (1, "")
    assert "Did you mean AFL (Atrial flutter)" in err
    assert call("search", "qwxyz", "-q")[2] == "nothing matches 'qwxyz'\n"


def test_show_takes_every_name_of_a_concept_and_a_misspelt_one_exits_2_with_what_was_meant():
    assert call("show", "vorhofflimmern")[1].startswith("AF (5)  Atrial fibrillation")
    for more in ((), ("--tree",)):
        code, out, err = call("show", "atrial fibrilation", *more)
        assert (code, out) == (2, "")
        assert "Did you mean AF (Atrial fibrillation)" in err


def test_the_tree_shows_subtypes_below_their_parents():
    assert call("show", "AMI", "--tree")[1].splitlines() == [
        "ancestors: Ischemic",
        "AMI  Acute myocardial infarction",
        "  AntMI  Anterior MI",
        "  InfMI  Inferior MI",
    ]
    assert len(json.loads(call("show", "--tree", "--format", "json")[1])["tree"]) == 42


@pytest.mark.parametrize(
    ("words", "label", "note"),
    [
        ("show --lang de", "Vorhofflimmern", "have not been reviewed clinically"),
        ("show AMI --tree --lang ja", "Acute myocardial infarction", "English is shown"),
    ],
)
def test_labels_are_of_the_language_asked_for_or_english_and_what_they_lack_is_noted(words, label, note):
    code, out, err = call(*words.split())
    assert (code, label in out, note in err) == (0, True, True)


@pytest.mark.parametrize("form", ["text", "json"])
def test_of_a_million_rows_of_the_same_codes_each_code_is_looked_up_once(monkeypatch, form):
    looked_up = []
    route = ecg_ontology.Ontology.route
    monkeypatch.setattr(
        ecg_ontology.Ontology, "route", lambda onto, code: looked_up.append(code) or route(onto, code)
    )
    code, out, err = call("route", "-", "--format", form, stdin="164889003 270492004 251238007\n" * 1000)
    assert code == 1
    assert len(json.loads(out)) == 3000 if form == "json" else out.count("AF") >= 1000
    assert looked_up == ["164889003", "270492004", "251238007"]
    assert err.count("251238007") == 1


def test_codes_are_read_from_stdin_for_a_dash():
    answers = json.loads(call("route", "-", "--format", "json", stdin="164889003, 54329005\n426783006\n")[1])
    assert [answer["code"] for answer in answers] == ["164889003", "54329005", "426783006"]
    assert json.loads(call("target", "-", "--format", "json", stdin="54329005\n")[1])["primary"] == 25
    code, _, err = call("route", "-", stdin=" \n")
    assert (code, "stdin has no codes" in err) == (2, True)
