"""`ecgonto` for curators: explain, coverage, diff, draw, snomed. And: no command opens a socket."""

import json
import socket
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.cli.calls import call
from tests.ecg_ontology.changes import WITHOUT_17_18, edit
from tests.ecg_ontology.test_snomed import CONCEPT, DESCRIPTION

from marecg_cli import ecgonto

SOURCES = Path(__file__).parents[2] / "ontology"


@pytest.fixture
def revision(folder):
    """The sources without the edge between second-degree and complete AV block."""
    return edit(folder / "cardiac.ttl", *WITHOUT_17_18).parent


def test_a_record_is_explained_as_text_json_and_picture(tmp_path):
    code, out, _ = call("explain", "164889003", "426783006", "--picture", tmp_path / "why.svg")
    assert (code, "the rules disagree" in out) == (0, True)
    assert (tmp_path / "why.svg").stat().st_size > 5000
    code, out, err = call("explain", "54329005", "STE", "--format", "json")
    why = json.loads(out)
    assert (code, "'STE'" in err) == (1, True)
    assert why["primary"] == {"max-index": "AntMI", "most-specific": "AntMI"}
    assert (why["rules_agree"], len(why["target"])) == (True, 40)
    assert "not a code" in call("explain", "STE")[1]


def test_coverage_counts_codes_and_records_in_words_and_for_machines(realdata):
    official = realdata / "meta" / "dx_map.csv"
    assert "110 codes" in call("coverage", official)[1]
    code, out, _ = call("coverage", official, "--format", "json")
    assert (code, json.loads(out)["unsupported"]) == (0, ["OMI", "InfMI"])
    out = call("coverage", realdata / "cinc2021")[1]
    assert "records: 236" in out
    assert "invalid" not in out  # text labels of early headers are translated as `prepare` translates them


class NotInstalled:
    """Finds no package marecg, as if it weren't installed."""

    def find_spec(self, name, path=None, target=None):
        if name == "marecg":
            raise ModuleNotFoundError("No module named 'marecg'", name=name)


def test_headers_are_read_by_the_package_of_records_and_without_it_one_line_says_what_to_install(
    tmp_path, monkeypatch
):
    (tmp_path / "a.hea").write_text("a 12 500 5000\n#Dx: AF,STE\n", encoding="utf-8")
    assert json.loads(call("coverage", tmp_path, "--format", "json")[1])["leaves"]["AF"] == 1
    for name in [name for name in sys.modules if name.partition(".")[0] == "marecg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NotInstalled(), *sys.meta_path])
    code, _, err = call("coverage", tmp_path)
    assert code == 2
    assert err.count("\n") == 1
    assert "pip install marecg" in err


def test_coverage_of_nothing_exits_3_and_of_a_missing_column_2(tmp_path):
    assert call("coverage", tmp_path)[0] == 3
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    assert call("coverage", tmp_path / "counts.csv", "--sources", "Ningbo")[0] == 2
    assert call("coverage", tmp_path / "counts.csv")[0] == 0


def test_a_deleted_edge_shows_as_one_moved_pair(revision):
    code, out, _ = call("diff", SOURCES, revision, "--format", "json")
    pair = {"a": "2AVB", "b": "3AVB", "old": 1, "new": 2, "leaves": True}
    assert (code, json.loads(out)["moved"]) == (0, [pair])
    assert "distance 2AVB – 3AVB: 1 → 2" in call("diff", SOURCES, revision)[1]
    assert call("diff", SOURCES, SOURCES)[1] == "no difference in supervision\n"


def test_a_diff_counts_the_records_of_a_corpus(revision, realdata):
    out = call("diff", SOURCES, revision, "--corpus", realdata / "cinc2021")[1]
    assert "of 236 have another target" in out


@pytest.mark.parametrize("name", ["g.svg", "g.png", "g.pdf"])
def test_the_graph_is_drawn(tmp_path, name):
    assert call("draw", "--out", tmp_path / name)[0] == 0
    assert (tmp_path / name).stat().st_size > 5000


@pytest.fixture
def release(tmp_path):
    """A release that has heads and no concept."""
    folder = tmp_path / "release" / "Snapshot"
    folder.mkdir(parents=True)
    for name, head in (("Concept", CONCEPT), ("Description", DESCRIPTION)):
        (folder / f"sct2_{name}_Snapshot_INT_20240101.txt").write_text(head, encoding="utf-8")
    return folder.parent


def test_a_release_is_checked_and_a_folder_without_one_exits_3(release, tmp_path):
    (tmp_path / "nothing").mkdir()
    assert call("snomed", tmp_path / "nothing")[0] == 3
    code, out, _ = call("snomed", release, "--format", "json")
    assert (code, {finding["id"] for finding in json.loads(out)["findings"]}) == (1, {"CCG-E401"})


def test_no_command_opens_a_socket(monkeypatch, tmp_path, revision, release):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    (tmp_path / "new.csv").write_text("code,label\nicd10:I48.1,persistent AF\n", encoding="utf-8")
    arguments = {
        **dict.fromkeys(("route", "target", "explain", "show"), ("164889003",)),
        **dict.fromkeys(("errata", "rules"), ()),
        **{"validate": (SOURCES,), "diff": (SOURCES, revision)},
        **{"distance": ("AF", "AFL"), "search": ("fibr",)},
        "review": ("--out", tmp_path / "review.tsv"),
        "match": (tmp_path / "new.csv", "--out", tmp_path / "candidates.tsv"),
        "add-code": ("icd10:I48.0", "paroxysmal AF", "AF", "--author", "A. B.", "--ontology", revision),
        **{"coverage": (tmp_path / "counts.csv",), "draw": ("--out", tmp_path / "graph.svg")},
        **{"snomed": (release,), "export": ("--out", tmp_path / "graph.owl")},
        "build": (SOURCES, "--out", tmp_path / "ccg.json", "--check"),
        "init": (tmp_path / "sources",),
    }
    assert arguments.keys() == {command.name for command in ecgonto.app().registered_commands}
    for name, words in arguments.items():
        code, _, err = call(name, *words)
        assert code in (0, 1), err


def test_a_prepared_corpus_is_covered_by_the_codes_of_its_index(tmp_path):
    codes = pa.array([["164889003"], ["164889003", "426783006"]], pa.list_(pa.string()))
    parquet.write_table(pa.table({"codes": codes}), tmp_path / "index.parquet")
    coverage = json.loads(call("coverage", tmp_path, "--format", "json")[1])
    assert (coverage["records"]["records"], coverage["leaves"]["AF"]) == (2, 2)
