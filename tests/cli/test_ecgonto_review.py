"""`ecgonto` for curators: explain, coverage, diff, draw, snomed. And: no command opens a socket."""

import json
import shutil
import socket
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from marecg_cli import ecgonto

SOURCES = Path(__file__).parents[2] / "ontology"


@pytest.fixture
def call(call_ecgonto):
    """Run `ecgonto` with these arguments; return its exit code, stdout and stderr."""
    return call_ecgonto


@pytest.fixture
def revision(tmp_path):
    """The sources without the edge between second-degree and complete AV block."""
    folder = Path(shutil.copytree(SOURCES, tmp_path / "revision"))
    text = (folder / "cardiac.ttl").read_text(encoding="utf-8")
    for old, new in (
        (" ;\n    ccg:sibling :3AVB .", " ."),
        (" ;\n    ccg:sibling :2AVB .\n\n:L", " .\n\n:L"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "cardiac.ttl").write_text(text, encoding="utf-8")
    return folder


def test_a_record_is_explained_as_text_json_and_picture(call, tmp_path):
    code, out, _ = call("explain", "164889003", "426783006", "--picture", tmp_path / "why.svg")
    assert code == 0
    assert "the rules disagree" in out
    assert (tmp_path / "why.svg").exists()
    why = json.loads(call("explain", "54329005", "--format", "json")[1])
    assert why["primary"] == {"max-index": "AntMI", "most-specific": "AntMI"}
    assert why["rules_agree"] is True
    assert len(why["target"]) == 40


def test_an_unknown_code_is_explained_and_exits_1(call):
    code, out, err = call("explain", "STE")
    assert code == 1
    assert "not a code" in out
    assert "'STE'" in err


def test_coverage_of_the_official_map_counts_110_codes_and_misses_two_leaves(call, realdata):
    code, out, _ = call("coverage", realdata / "meta" / "dx_map.csv", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert len(found["codes"]) == 110
    assert found["unsupported"] == ["OMI", "InfMI"]
    assert "110 codes" in call("coverage", realdata / "meta" / "dx_map.csv")[1]


def test_coverage_of_real_headers_tells_of_their_records(call, realdata):
    out = call("coverage", realdata / "cinc2021")[1]
    assert "records: 236" in out
    assert "invalid" not in out  # text labels of early headers are translated as `prepare` translates them


def test_coverage_of_nothing_exits_3_and_of_a_missing_column_2(call, tmp_path):
    assert call("coverage", tmp_path)[0] == 3
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    assert call("coverage", tmp_path / "counts.csv", "--sources", "Ningbo")[0] == 2
    assert call("coverage", tmp_path / "counts.csv")[0] == 0


def test_a_deleted_edge_shows_as_one_moved_pair(call, revision):
    code, out, _ = call("diff", SOURCES, revision, "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["moved"] == [{"a": "2AVB", "b": "3AVB", "old": 1, "new": 2, "leaves": True}]
    assert found["rows"] == ["2AVB", "3AVB"]
    text = call("diff", SOURCES, revision)[1]
    assert "distance 2AVB – 3AVB: 1 → 2" in text
    assert call("diff", SOURCES, SOURCES)[1] == "no difference in supervision\n"


def test_a_diff_counts_the_records_of_a_corpus(call, revision, realdata):
    out = call("diff", SOURCES, revision, "--corpus", realdata / "cinc2021")[1]
    assert "of 236 have another target" in out


def test_graph_and_targets_are_drawn(call, tmp_path):
    for name, command in {
        "g.svg": ("draw", "--out"),
        "g.png": ("draw", "--out"),
        "t.pdf": ("explain", "54329005", "--picture"),
    }.items():
        assert call(*command, tmp_path / name)[0] == 0
        assert (tmp_path / name).stat().st_size > 5000


def test_a_release_is_checked_and_a_folder_without_one_exits_3(call, tmp_path):
    assert call("snomed", tmp_path)[0] == 3
    (tmp_path / "gps.txt").write_text("Concept ID\tFSN\tStatus\n", encoding="utf-8")
    code, out, _ = call("snomed", tmp_path / "gps.txt", "--format", "json")
    assert code == 1
    assert {finding["id"] for finding in json.loads(out)["findings"]} == {"CCG-E401"}


def test_no_command_opens_a_socket(call, monkeypatch, tmp_path, revision):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    (tmp_path / "gps.txt").write_text("Concept ID\tFSN\tStatus\n", encoding="utf-8")
    (tmp_path / "new.csv").write_text("code,label\nicd10:I48.1,persistent AF\n", encoding="utf-8")
    asked = [
        ("validate", SOURCES),
        ("route", "164889003"),
        ("target", "164889003"),
        ("distance", "AF", "AFL"),
        ("show", "AF"),
        ("search", "fibr"),
        ("tree",),
        ("browse", "--out", tmp_path / "onto.html"),
        ("review", "--out", tmp_path / "review.tsv"),
        ("match", tmp_path / "new.csv", "--out", tmp_path / "candidates.tsv"),
        ("add-code", "icd10:I48.0", "paroxysmal AF", "AF", "--author", "A. B.", "--tables", revision),
        ("explain", "164889003"),
        ("coverage", tmp_path / "counts.csv"),
        ("diff", SOURCES, revision),
        ("draw", "--out", tmp_path / "graph.svg"),
        ("errata",),
        ("rules",),
        ("snomed", tmp_path / "gps.txt"),
        ("export", "--out", tmp_path / "graph.owl"),
        ("perturb", "--flat", "--out", tmp_path / "flat.json"),
        ("build", SOURCES, "--out", tmp_path / "ccg.json", "--check"),
        ("init", tmp_path / "sources"),
    ]
    names = {command.name for command in ecgonto.app().registered_commands}
    assert {str(arguments[0]) for arguments in asked} == names
    for arguments in asked:
        code, _, err = call(*arguments)
        assert code in (0, 1), err


def test_a_prepared_corpus_is_covered_by_the_codes_of_its_index(call, tmp_path):
    codes = pa.array([["164889003"], ["164889003", "426783006"]], pa.list_(pa.string()))
    parquet.write_table(pa.table({"codes": codes}), tmp_path / "index.parquet")
    found = json.loads(call("coverage", tmp_path, "--format", "json")[1])
    assert found["records"]["records"] == 2
    assert found["leaves"]["AF"] == 2
