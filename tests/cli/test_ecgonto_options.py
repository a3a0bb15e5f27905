"""Every option of `ecgonto` reaches what the command asks: none is taken and forgotten."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.reached import reached

from ecg_ontology.loading import PACKAGED
from ecg_ontology.routing_file import Decision
from marecg_cli.ecgonto import app as ecgonto

RULE, DIFF = "--sigma 0.5 --rule most-specific", f"diff '{PACKAGED}' '{PACKAGED}'"
RULED = {"sigma": 0.5, "rule": "most-specific"}
ECGONTO: list[tuple[str, str, dict[str, Any]]] = [
    (f"explain 164889003 {RULE}", "ecg_ontology.explain_codes", {"codes": ["164889003"], **RULED}),
    (f"target 164889003 {RULE}", "ecg_ontology.explain_codes", {"codes": ["164889003"], **RULED}),
    (f"{DIFF} {RULE}", "ecg_ontology.compare", RULED),
    (f"{DIFF} --threshold 0.25", "ecg_ontology.diff_text.difference_text", {"threshold": 0.25}),
    ("validate ontology --profile curated", "ecg_ontology.validate", {"profile": "curated"}),
    ("validate --reasoner", "ecg_ontology.owl.consistency", {}),
]


NAMES = [line.partition(" ")[0] for line, *_ in ECGONTO]


@pytest.mark.parametrize(("line", "target", "expected"), ECGONTO, ids=NAMES)
def test_what_is_asked_of_ecgonto_is_what_is_done(line, target, expected, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    asked = reached(monkeypatch, ecgonto, line, target)
    assert {name: asked[name] for name in expected} == expected


def test_a_code_is_added_with_all_that_is_given_of_it(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    line = (
        "add-code icd10:I48.0 label AF --author Me --comment why --predicate skos:broadMatch --table icd10 "
        "--date 2026-01-31"
    )
    (decision,) = reached(monkeypatch, ecgonto, line, "ecg_ontology.revise.apply_decisions")["decisions"]
    code = {"table": "icd10", "code": "icd10:I48.0", "label": "label", "node": "AF"}
    why = {"predicate": "skos:broadMatch", "comment": "why", "reviewer": "Me", "date": "2026-01-31"}
    assert decision == Decision(decision="add", **code, **why)
