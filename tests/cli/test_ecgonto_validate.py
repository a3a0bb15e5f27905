"""`ecgonto validate`: thresholds, disabled rules, and the forms for other tools."""

import json
from pathlib import Path

import pytest
import rdflib
from rdflib.namespace import SH

from marecg_cli import ecgonto


@pytest.fixture
def call(capsys):
    """Run `ecgonto` with these arguments; return its exit code and stdout."""

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as done:
            ecgonto.main(list(arguments))
        return int(done.value.code or 0), capsys.readouterr().out

    return run


def test_warnings_fail_when_asked_to(call):
    assert call("validate")[0] == 0
    assert call("validate", "--fail-on", "warn")[0] == 1
    assert call("validate", "--fail-on", "info")[0] == 1


def test_a_disabled_rule_neither_shows_nor_fails(call):
    code, out = call("validate", "--fail-on", "warn", "--disable", "CCG-W310", "--format", "json")
    assert code == 0
    assert json.loads(out) == {"ok": True, "findings": []}


def test_an_unknown_rule_or_format_or_threshold_is_wrong_usage(call):
    for arguments in (("--disable", "CCG-E999"), ("--format", "xml"), ("--fail-on", "fatal")):
        assert call("validate", *arguments) == (2, "")


def test_findings_are_printed_for_code_hosts_and_ci(call):
    assert json.loads(call("validate", "--format", "sarif")[1])["version"] == "2.1.0"
    assert call("validate", "--format", "junit")[1].startswith("<?xml")


def test_findings_are_annotations_on_demand(call_ecgonto):
    sources = Path(__file__).parents[2] / "ontology"
    code, out, _ = call_ecgonto("validate", sources, "--format", "github")
    assert code == 0
    assert [line[:15] for line in out.splitlines()] == ["::warning file="] * 4
    assert f"{sources.as_posix()}/routing.paper.sssom.tsv,line=" in out
    assert call_ecgonto("validate", "--profile", "curated", "--format", "github")[1] == ""


def test_the_shacl_report_is_that_of_the_shipped_shapes(call, tmp_path):
    code, out = call("validate", "--shacl")
    assert code == 0
    graph = rdflib.Graph().parse(data=out, format="turtle")
    assert (None, SH.conforms, rdflib.Literal(True)) in graph
    text = (Path("ontology") / "cardiac.ttl").read_text(encoding="utf-8")
    (tmp_path / "o.ttl").write_text(text.replace("ccg:index 5 ;", "ccg:index 5 , 77 ;"), encoding="utf-8")
    code, out = call("validate", str(tmp_path / "o.ttl"), "--shacl")
    assert code == 1
    messages = set(rdflib.Graph().parse(data=out, format="turtle").objects(None, SH.resultMessage))
    assert any(str(message).startswith("CCG-E003") for message in messages)
