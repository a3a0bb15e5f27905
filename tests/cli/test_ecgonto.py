"""`ecgonto` as other programs call it: JSON on stdout, messages on stderr, and the exit codes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import ecg_ontology
from marecg_cli import ecgonto

ROOT = Path(__file__).parents[2]


@pytest.fixture
def call(call_ecgonto):
    """Run `ecgonto` with these arguments; return its exit code, stdout and stderr."""
    return call_ecgonto


def test_the_packaged_ontology_is_ok_and_its_warnings_name_the_four_codes(call):
    code, out, _ = call("validate", "--format", "json")
    report = json.loads(out)
    assert code == 0
    assert report["ok"] is True
    assert {f["subject"] for f in report["findings"]} == {"698252002", "233917008", "164931005", "413444003"}
    assert {f["severity"] for f in report["findings"]} == {"WARN"}
    assert set(report["findings"][0]) == {"id", "severity", "subject", "where", "message", "fix"}


def test_the_curated_profile_has_no_finding(call):
    assert json.loads(call("validate", "--profile", "curated", "--format", "json")[1]) == {
        "ok": True,
        "findings": [],
    }


def test_the_sources_are_validated_with_file_and_line(call):
    findings = json.loads(call("validate", ROOT / "ontology", "--format", "json")[1])["findings"]
    assert all(re.fullmatch(r"routing\.paper\.sssom\.tsv:\d+", finding["where"]) for finding in findings)


def test_codes_are_routed_as_json(call):
    code, out, _ = call("route", "164889003", "54329005", "698252002", "--format", "json")
    af, anterior, printed = json.loads(out)
    assert code == 0
    assert set(af) == {"code", "label", "status", "nodes", "leaves", "notes"}
    assert af["nodes"][0] == {"index": 5, "abbr": "AF", "label": "Atrial fibrillation", "root": False}
    assert [node["abbr"] for node in anterior["nodes"]] == ["AntMI", "AMI", "Ischemic"]
    assert anterior["leaves"] == [25, 19]
    assert "as the paper prints it" in printed["notes"][0]


def test_an_unknown_or_malformed_code_is_answered_and_exits_1(call):
    code, out, err = call("route", "164889003", "251238007", "STE", "--format", "json")
    assert code == 1
    assert [answer["status"] for answer in json.loads(out)] == ["routed", "unknown", "invalid"]
    assert "'251238007', 'STE'" in err


def test_an_unrouted_code_is_no_error(call):
    code, out, _ = call("route", "39732003")
    assert code == 0
    assert "unrouted" in out
    assert "axis" in out


def test_the_target_of_anterior_mi_has_primary_25(call):
    code, out, _ = call("target", "54329005", "--format", "json")
    answer = json.loads(out)
    assert code == 0
    assert answer["leaves"] == [19, 25]
    assert answer["primary"] == 25
    assert len(answer["target"]) == 40
    assert sum(answer["target"]) == pytest.approx(1.0)
    about = {name: answer[name] for name in ("names", "primary_name", "rule", "sigma")}
    assert about == {"names": ["AMI", "AntMI"], "primary_name": "AntMI", "rule": "max-index", "sigma": 1.0}


def test_sigma_and_rule_reach_the_target(call):
    by_index = json.loads(call("target", "426783006", "164889003", "--format", "json")[1])
    by_depth = json.loads(
        call("target", "426783006", "164889003", "--rule", "most-specific", "--format", "json")[1]
    )
    assert (by_index["primary"], by_depth["primary"]) == (34, 5)
    narrow = json.loads(call("target", "164889003", "--sigma", "0.1", "--format", "json")[1])
    assert narrow["target"][5] > 0.999


def test_a_record_without_a_leaf_has_primary_minus_1_and_zeros(call):
    answer = json.loads(call("target", "6374002", "--format", "json")[1])
    assert (answer["leaves"], answer["primary"], answer["target"]) == ([], -1, [0.0] * 40)
    assert "No leaf" in call("target", "6374002")[1]


def test_a_distance_comes_with_its_path(call):
    assert json.loads(call("distance", "AntMI", "19", "--format", "json")[1]) == {
        "distance": 1,
        "path": ["AntMI", "AMI"],
    }
    assert call("distance", "AF", "LBBB")[1] == "3  AF – Rhythm – Conduction – LBBB\n"


def test_a_distance_over_no_path_says_that_it_is_a_convention(call, tmp_path):
    graph = nx.DiGraph([("COPD", "Airway"), ("Angina", "Heart")])
    ecg_ontology.Ontology.from_networkx(graph, "https://example.org/two").save(tmp_path / "two.json")
    code, out, _ = call("distance", "COPD", "Angina", "--ontology", tmp_path / "two.json")
    assert code == 0
    assert out.endswith("  by convention: no path joins them\n")


def test_one_concept_or_all_are_shown(call):
    assert len(call("show")[1].splitlines()) == 40
    assert len(json.loads(call("show", "--format", "json")[1])) == 40
    shown = json.loads(call("show", "2AVB", "--format", "json")[1])
    assert [each["abbr"] for each in shown["neighbours"] if each["relation"] == "sibling"] == ["1AVB", "3AVB"]
    assert "195042002" in shown["codes"]
    assert "54329005" in call("show", "AntMI")[1]


def test_a_neighbour_is_named_by_what_it_is_to_the_concept_that_is_shown(call):
    assert "  subtype          AntMI (Anterior MI)\n" in call("show", "AMI")[1]
    assert "  subtype of       AMI (Acute myocardial infarction)\n" in call("show", "AntMI")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("distance", "AF", "Heart"),
        ("show", "99"),
        ("show", "9" * 5000),
        ("distance", "AF", "9" * 5000),
        ("show", "--ontology", ""),
        ("validate", ""),
        ("route", "164889003", "--profile", "printed"),
        ("target", "164889003", "--rule", "deepest"),
        ("target", "164889003", "--sigma", "0"),
        ("route", "164889003", "--format", "xml"),
        ("route",),
        ("fly",),
        ("export", "--out", "graph.xlsx"),
    ],
)
def test_wrong_usage_exits_2_with_a_message_and_no_result(call, arguments):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert 0 < len(err) < 1000
    assert "Traceback" not in err


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_terminal_obeys_nothing_that_a_table_says(call, tmp_path, form):
    sources = shutil.copytree(ROOT / "ontology", tmp_path / "ontology")
    table = sources / "routing.sssom.tsv"
    text = table.read_text(encoding="utf-8")
    assert "the axis is no" in text
    table.write_text(text.replace("the axis is no", "\x1b[2J\x9b2Jthe axis is no"), encoding="utf-8")
    code, out, err = call("route", "39732003", "--ontology", sources, "--format", form)
    assert (code, err) == (0, "")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out)
    assert "[2J" in out
    if form == "json":
        assert "\x1b[2J\x9b2Jthe axis is no" in json.loads(out)[0]["notes"][0]


def test_an_unreadable_source_exits_3_with_one_line(call, tmp_path):
    (tmp_path / "noise.ttl").write_text("this is not turtle", encoding="utf-8")
    for arguments in (
        ("validate", tmp_path / "noise.ttl"),
        ("validate", tmp_path / "nowhere.ttl"),
        ("route", "164889003", "--ontology", tmp_path / "noise.ttl"),
    ):
        code, out, err = call(*arguments)
        assert code == 3
        assert out == ""
        assert len(err.splitlines()) == 1


def test_an_unwritable_output_exits_3_with_one_line(call, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    code, _, err = call("export", "--out", tmp_path / "file" / "ccg.npz")
    assert code == 3
    assert len(err.splitlines()) == 1


def test_a_faulty_source_exits_1_and_lists_its_findings(call, tmp_path):
    text = (ROOT / "ontology" / "cardiac.ttl").read_text(encoding="utf-8")
    (tmp_path / "twice.ttl").write_text(text.replace("ccg:index 6 ;", "ccg:index 5 ;"), encoding="utf-8")
    code, out, _ = call("validate", tmp_path / "twice.ttl", "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert report["ok"] is False
    assert "CCG-E001" in {finding["id"] for finding in report["findings"]}
    assert call("validate", tmp_path / "twice.ttl")[0] == 1


def test_building_checks_and_writes_what_is_stale(call, tmp_path):
    sources = shutil.copytree(ROOT / "ontology", tmp_path / "ontology")
    bundle = tmp_path / "ccg.json"
    assert call("build", sources, "--out", bundle, "--check")[0] == 1
    assert not bundle.exists()
    assert call("build", sources, "--out", bundle)[0] == 0
    assert call("build", sources, "--out", bundle, "--check")[0] == 0
    package = ROOT / "packages/ecg-ontology/src/ecg_ontology/data/ccg.json"
    assert bundle.read_bytes() == package.read_bytes()


def test_only_the_package_s_own_sources_are_built_without_a_place_for_the_bundle(call, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "ontology", tmp_path / "lung")
    monkeypatch.chdir(tmp_path)
    for arguments in (("build", "lung"), ("build", "lung", "--check"), ("build",)):
        code, out, err = call(*arguments)
        assert (code, out, bool(err)) == (2, "", True)
    assert "--out lung.json" in call("build", "lung")[2]
    assert {path.name for path in tmp_path.iterdir()} == {"lung"}
    monkeypatch.chdir(ROOT)
    assert call("build", "--check")[0] == 0


def test_a_bundle_of_another_ontology_is_not_built_over(call, tmp_path):
    sources = shutil.copytree(ROOT / "ontology", tmp_path / "lung")
    text = (sources / "cardiac.ttl").read_text(encoding="utf-8")
    text = text.replace("<https://w3id.org/mar-ecg/cardiac> a", "<https://example.org/lung> a")
    (sources / "cardiac.ttl").write_text(text, encoding="utf-8")
    (sources / "enumeration.lock").unlink()
    bundle = tmp_path / "ccg.json"
    assert call("export", "--out", bundle)[0] == 0
    before = bundle.read_bytes()
    code, _, err = call("build", sources, "--out", bundle)
    assert (code, bundle.read_bytes()) == (2, before)
    assert "is the ontology https://w3id.org/mar-ecg/cardiac" in err
    (tmp_path / "notes.json").write_text('{"todo": []}', encoding="utf-8")
    assert "isn't an ontology" in call("build", ROOT / "ontology", "--out", tmp_path / "notes.json")[2]
    assert (tmp_path / "notes.json").read_text(encoding="utf-8") == '{"todo": []}'


def test_a_user_s_own_bundle_answers_every_question(call, tmp_path):
    bundle = tmp_path / "own.json"
    assert call("export", "--out", bundle)[0] == 0
    assert call("route", "164889003", "--ontology", bundle)[0] == 0
    assert call("distance", "AF", "AFL", "--ontology", bundle)[1].startswith("1 ")


COMMANDS = [command.name for command in ecgonto.app().registered_commands]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_s_help_shows_an_example(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    assert f"Example: ecgonto {command}" in " ".join(out.split())


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.splitlines()}


def test_importing_the_ontology_loads_no_tensor_array_graph_or_rdf_library():
    assert not modules_after("import ecg_ontology") & {"torch", "rdflib", "networkx", "numpy"}


def test_routing_a_code_loads_no_array_graph_or_rdf_library():
    code = "from marecg_cli.ecgonto import main\ntry: main(['route', '164889003'])\nexcept SystemExit: pass"
    assert not modules_after(code) & {"torch", "rdflib", "networkx", "numpy", "rich"}
