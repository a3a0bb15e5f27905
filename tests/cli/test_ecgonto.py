"""`ecgonto` as other programs call it: JSON on stdout, messages on stderr, and the exit codes."""

import json
import re
import shutil
from pathlib import Path

import networkx as nx
import pytest
import rdflib
from rdflib.namespace import SH
from tests.cli.calls import call
from tests.ecg_ontology.changes import edit

import ecg_ontology

ROOT = Path(__file__).parents[2]


def test_the_packaged_ontology_is_ok_and_its_warnings_name_the_four_codes():
    code, out, _ = call("validate", "--format", "json")
    report = json.loads(out)
    assert (code, report["ok"]) == (0, True)
    assert {f["subject"] for f in report["findings"]} == {"698252002", "233917008", "164931005", "413444003"}
    assert {f["severity"] for f in report["findings"]} == {"WARN"}
    assert set(report["findings"][0]) == {"id", "severity", "subject", "where", "message", "fix"}
    _, out, _ = call("validate", "--profile", "curated", "--format", "json")
    assert json.loads(out) == {"ok": True, "findings": []}


def test_the_sources_are_validated_with_file_and_line():
    findings = json.loads(call("validate", ROOT / "ontology", "--format", "json")[1])["findings"]
    assert all(re.fullmatch(r"routing\.paper\.sssom\.tsv:\d+", finding["where"]) for finding in findings)


def test_codes_are_routed_as_json():
    code, out, _ = call("route", "164889003", "54329005", "698252002", "--format", "json")
    af, anterior, printed = json.loads(out)
    assert code == 0
    assert set(af) == {"code", "label", "status", "nodes", "leaves", "notes"}
    assert af["nodes"][0] == {"index": 5, "abbr": "AF", "label": "Atrial fibrillation", "root": False}
    assert [node["abbr"] for node in anterior["nodes"]] == ["AntMI", "AMI", "Ischemic"]
    assert anterior["leaves"] == [25, 19]
    assert "as the paper prints it" in printed["notes"][0]


def test_the_notes_of_a_route_are_lines_of_their_own_and_a_code_is_on_one_line():
    _, out, _ = call("route", "426783006", "a\nb")
    of_code, note, strange, *_ = out.splitlines()
    assert of_code.endswith("NSR (34), Normal (0)")
    assert note.startswith("    the Challenge's sinus rhythm")
    assert strange.startswith("a\\nb")


def test_an_unknown_or_malformed_code_is_answered_and_exits_1():
    code, out, err = call("route", "164889003", "251238007", "STE", "--format", "json")
    assert code == 1
    assert [answer["status"] for answer in json.loads(out)] == ["routed", "unknown", "invalid"]
    assert "'251238007', 'STE'" in err


def test_the_target_of_anterior_mi_has_primary_25():
    code, out, _ = call("target", "54329005", "--format", "json")
    answer = json.loads(out)
    target = answer.pop("target")
    assert (code, len(target), sum(target)) == (0, 40, pytest.approx(1.0))
    [route] = answer.pop("routes")
    assert [node["abbr"] for node in route["nodes"]] == ["AntMI", "AMI", "Ischemic"]
    names = {"names": ["AMI", "AntMI"], "primary_name": "AntMI", "rule": "max-index", "sigma": 1.0}
    rules = {"primary_by_rule": {"max-index": "AntMI", "most-specific": "AntMI"}, "rules_agree": True}
    assert answer == {"leaves": [19, 25], "primary": 25, **names, **rules}
    _, out, _ = call("target", "426783006", "164889003", "--rule", "most-specific", "--format", "json")
    assert json.loads(out)["primary"] == 5


def test_a_record_without_a_leaf_has_primary_minus_1_and_zeros():
    answer = json.loads(call("target", "6374002", "--format", "json")[1])
    assert (answer["leaves"], answer["primary"], answer["target"]) == ([], -1, [0.0] * 40)
    assert "No leaf" in call("target", "6374002")[1]


def test_a_distance_comes_with_its_path_or_says_that_it_is_a_convention(tmp_path):
    answer = json.loads(call("show", "AntMI", "19", "--format", "json")[1])
    assert answer == {"distance": 1, "path": ["AntMI", "AMI"]}
    assert call("show", "AF", "LBBB")[1] == "3  AF – Rhythm – Conduction – LBBB\n"
    graph = nx.DiGraph([("COPD", "Airway"), ("Angina", "Heart")])
    ecg_ontology.Ontology.from_networkx(graph, "https://example.org/two").save(tmp_path / "two.json")
    code, out, _ = call("show", "COPD", "Angina", "--ontology", tmp_path / "two.json")
    assert (code, out.endswith("  by convention, because no path exists\n")) == (0, True)


def test_one_concept_or_all_are_shown_and_a_neighbour_by_what_it_is_to_the_one():
    assert len(call("show")[1].splitlines()) == 40
    assert len(json.loads(call("show", "--format", "json")[1])) == 40
    shown = json.loads(call("show", "2AVB", "--format", "json")[1])
    assert [each["abbr"] for each in shown["neighbours"] if each["relation"] == "sibling"] == ["1AVB", "3AVB"]
    assert "195042002" in shown["codes"]
    anterior = call("show", "AntMI")[1]
    assert "54329005" in anterior
    assert "  subtype of       AMI (Acute myocardial infarction)\n" in anterior
    assert "  subtype          AntMI (Anterior MI)\n" in call("show", "AMI")[1]


@pytest.mark.parametrize(
    ("arguments", "ends_with"),
    [
        (("show", "AF", "Heart"), 2),
        (("show", "AF", "AFL", "--tree"), 2),
        (("show", "99"), 2),
        (("show", "9" * 5000), 2),
        (("show", "AF", "9" * 5000), 2),
        (("show", "--ontology", ""), 2),
        (("validate", ""), 2),
        (("route", "164889003", "--profile", "printed"), 2),
        (("target", "164889003", "--rule", "deepest"), 2),
        (("target", "164889003", "--sigma", "0"), 2),
        (("route", "164889003", "--format", "xml"), 2),
        (("route",), 2),
        (("fly",), 2),
        (("export", "graph.xlsx"), 2),
        (("export", "folder", "--ontology", "extended"), 2),
        (("validate", "noise.ttl"), 3),
        (("validate", "nowhere.ttl"), 3),
        (("route", "164889003", "--ontology", "noise.ttl"), 3),
        (("export", "noise.ttl/ccg.npz"), 3),
    ],
)
def test_wrong_usage_exits_2_and_a_file_that_cannot_be_used_3_with_a_message_and_no_result(
    tmp_path, monkeypatch, arguments, ends_with
):
    monkeypatch.chdir(tmp_path)
    Path("noise.ttl").write_text("this is not turtle", encoding="utf-8")
    code, out, err = call(*arguments)
    assert (code, out) == (ends_with, "")
    assert 0 < len(err) < 1000
    assert "Traceback" not in err
    assert ends_with == 2 or len(err.splitlines()) == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_terminal_obeys_nothing_that_a_table_says(folder, form):
    edit(folder / "routing.sssom.tsv", ("the axis is no", "\x1b[2J\x9b2Jthe axis is no"))
    code, out, err = call("route", "39732003", "--ontology", folder, "--format", form)
    assert (code, err) == (0, "")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out)
    assert "[2J" in out
    assert "unrouted" in out
    if form == "json":
        assert "\x1b[2J\x9b2Jthe axis is no" in json.loads(out)[0]["notes"][0]


def test_a_faulty_source_exits_1_and_lists_its_findings(folder):
    twice = edit(folder / "cardiac.ttl", ("ccg:index 6 ;", "ccg:index 5 ;"))
    code, out, _ = call("validate", twice, "--format", "json")
    report = json.loads(out)
    assert (code, report["ok"]) == (1, False)
    assert "CCG-E001" in {finding["id"] for finding in report["findings"]}
    assert call("validate", twice)[0] == 1


def test_building_checks_and_writes_what_is_stale(tmp_path):
    folder, bundle = shutil.copytree(ROOT / "ontology", tmp_path / "ontology"), tmp_path / "ccg.json"
    assert call("build", folder, "--out", bundle, "--check")[0] == 1
    assert not bundle.exists()
    assert call("build", folder, "--out", bundle)[0] == 0
    assert call("build", folder, "--out", bundle, "--check")[0] == 0
    package = ROOT / "packages/ecg-ontology/src/ecg_ontology/data/ccg.json"
    assert bundle.read_bytes() == package.read_bytes()


def test_only_the_package_s_own_sources_are_built_without_a_place_for_the_bundle(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "ontology", tmp_path / "lung")
    monkeypatch.chdir(tmp_path)
    for arguments in (("build", "lung"), ("build", "lung", "--check"), ("build",)):
        code, out, err = call(*arguments)
        assert (code, out, bool(err)) == (2, "", True)
    assert "--out lung.json" in call("build", "lung")[2]
    assert {path.name for path in tmp_path.iterdir()} == {"lung"}
    monkeypatch.chdir(ROOT)
    assert call("build", "--check")[0] == 0


def test_a_bundle_of_another_ontology_is_not_built_over(folder, tmp_path):
    iri = "<https://w3id.org/mar-ecg/cardiac> a"
    edit(folder / "cardiac.ttl", (iri, "<https://example.org/lung> a"))
    (folder / "enumeration.lock").unlink()
    bundle, notes = tmp_path / "ccg.json", tmp_path / "notes.json"
    assert call("export", bundle)[0] == 0
    before = bundle.read_bytes()
    code, _, err = call("build", folder, "--out", bundle)
    assert (code, bundle.read_bytes()) == (2, before)
    assert "is the ontology https://w3id.org/mar-ecg/cardiac" in err
    notes.write_text('{"todo": []}', encoding="utf-8")
    assert "isn't an ontology" in call("build", ROOT / "ontology", "--out", notes)[2]
    assert notes.read_text(encoding="utf-8") == '{"todo": []}'


# --- ecgonto validate: thresholds, disabled rules, and the forms for other tools


def test_warnings_fail_when_asked_to():
    assert [call("validate", "--fail-on", least)[0] for least in ("error", "warn", "info")] == [0, 1, 1]


def test_a_disabled_rule_neither_shows_nor_fails():
    code, out, _ = call("validate", "--fail-on", "warn", "--disable", "CCG-W310", "--format", "json")
    assert (code, json.loads(out)) == (0, {"ok": True, "findings": []})


def test_an_unknown_rule_or_format_or_threshold_is_wrong_usage():
    for arguments in (("--disable", "CCG-E999"), ("--format", "xml"), ("--fail-on", "fatal")):
        assert call("validate", *arguments)[:2] == (2, "")


def test_findings_are_annotations_on_demand():
    sources = Path(__file__).parents[2] / "ontology"
    code, out, _ = call("validate", sources, "--format", "github")
    assert code == 0
    assert [line[:15] for line in out.splitlines()] == ["::warning file="] * 4
    assert f"{sources.as_posix()}/routing.paper.sssom.tsv,line=" in out
    assert call("validate", "--profile", "curated", "--format", "github")[1] == ""


def test_the_shacl_report_is_that_of_the_shipped_shapes(folder):
    code, out, _ = call("validate", "--engine", "shacl")
    assert code == 0
    graph = rdflib.Graph().parse(data=out, format="turtle")
    assert (None, SH.conforms, rdflib.Literal(True)) in graph
    wrong = edit(folder / "cardiac.ttl", ("ccg:index 5 ;", "ccg:index 5 , 77 ;"))
    code, out, _ = call("validate", wrong, "--engine", "shacl")
    assert code == 1
    messages = set(rdflib.Graph().parse(data=out, format="turtle").objects(None, SH.resultMessage))
    assert any(str(message).startswith("CCG-E003") for message in messages)
