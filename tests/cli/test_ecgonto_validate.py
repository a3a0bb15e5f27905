"""`ecgonto validate`: thresholds, disabled rules, and the forms for other tools."""

import json
from pathlib import Path

import rdflib
from rdflib.namespace import SH
from tests.cli.calls import call
from tests.ecg_ontology.changes import edit


def test_warnings_fail_when_asked_to():
    assert [call("validate", "--fail-on", least)[0] for least in ("error", "warn", "info")] == [0, 1, 1]


def test_a_disabled_rule_neither_shows_nor_fails():
    code, out, _ = call("validate", "--fail-on", "warn", "--disable", "CCG-W310", "--format", "json")
    assert (code, json.loads(out)) == (0, {"ok": True, "findings": []})


def test_an_unknown_rule_or_format_or_threshold_is_wrong_usage():
    for arguments in (("--disable", "CCG-E999"), ("--format", "xml"), ("--fail-on", "fatal")):
        assert call("validate", *arguments)[:2] == (2, "")


def test_findings_are_printed_for_code_hosts_and_ci():
    assert json.loads(call("validate", "--format", "sarif")[1])["version"] == "2.1.0"
    assert call("validate", "--format", "junit")[1].startswith("<?xml")


def test_findings_are_annotations_on_demand():
    sources = Path(__file__).parents[2] / "ontology"
    code, out, _ = call("validate", sources, "--format", "github")
    assert code == 0
    assert [line[:15] for line in out.splitlines()] == ["::warning file="] * 4
    assert f"{sources.as_posix()}/routing.paper.sssom.tsv,line=" in out
    assert call("validate", "--profile", "curated", "--format", "github")[1] == ""


def test_the_shacl_report_is_that_of_the_shipped_shapes(folder):
    code, out, _ = call("validate", "--shacl")
    assert code == 0
    graph = rdflib.Graph().parse(data=out, format="turtle")
    assert (None, SH.conforms, rdflib.Literal(True)) in graph
    wrong = edit(folder / "cardiac.ttl", ("ccg:index 5 ;", "ccg:index 5 , 77 ;"))
    code, out, _ = call("validate", wrong, "--shacl")
    assert code == 1
    messages = set(rdflib.Graph().parse(data=out, format="turtle").objects(None, SH.resultMessage))
    assert any(str(message).startswith("CCG-E003") for message in messages)
