"""`ecgonto search`, `show`, `tree`: concepts by their words."""

import io
import json
from pathlib import Path

import pytest
import yaml


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


def test_codes_are_read_from_stdin_for_a_dash(call_ecgonto, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("164889003, 54329005\n426783006\n"))
    answers = json.loads(call_ecgonto("route", "-", "--format", "json")[1])
    assert [answer["code"] for answer in answers] == ["164889003", "54329005", "426783006"]
    monkeypatch.setattr("sys.stdin", io.StringIO("54329005\n"))
    said = json.loads(call_ecgonto("target", "-", "--format", "json")[1])
    assert (said["primary"], said["rule"], said["sigma"]) == (25, "max-index", 1.0)
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    code, _, err = call_ecgonto("route", "-")
    assert (code, "no code came on stdin" in err) == (2, True)


def test_what_others_run_on_their_ontologies_is_whole_yaml():
    for name in (".pre-commit-hooks.yaml", ".github/workflows/ontology.yml"):
        text = (Path(__file__).parents[2] / name).read_text(encoding="utf-8")
        assert "ecgonto validate" in text
        assert yaml.safe_load(text)
