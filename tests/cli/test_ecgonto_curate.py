"""`ecgonto` for curators: target, coverage, diff, export, releases. And: no command opens a socket."""

import json
import shutil
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
    """The excerpt without the edge between second-degree and complete AV block."""
    return edit(folder / "cardiac.ttl", *WITHOUT_17_18).parent


def test_a_record_is_explained_as_text_json_and_picture(tmp_path):
    words = ("target", "164889003", "426783006", "--picture", tmp_path / "why.svg")
    code, out, _ = call(*words)
    assert (code, "the rules select different leaves" in out, "█" in out) == (0, True, False)
    assert "█" in call(*words, "--bars")[1]
    assert (tmp_path / "why.svg").stat().st_size > 5000
    code, out, err = call("target", "54329005", "STE", "--format", "json")
    why = json.loads(out)
    assert (code, "'STE'" in err) == (1, True)
    assert why["primary_by_rule"] == {"max-index": "AntMI", "most-specific": "AntMI"}
    assert (why["rules_agree"], len(why["target"])) == (True, 40)
    assert "not a code" in call("target", "STE")[1]


def test_coverage_counts_codes_and_records_in_words_and_for_machines(realdata):
    official = realdata / "meta" / "dx_map.csv"
    assert "110 codes" in call("coverage", official)[1]
    code, out, _ = call("coverage", official, "--format", "json")
    assert (code, json.loads(out)["unsupported"]) == (0, ["OMI", "InfMI"])
    out = call("coverage", realdata / "cinc2021")[1]
    assert "records: 236" in out
    assert "invalid" not in out  # text labels of early headers are translated as `prepare` translates them


class NotInstalled:
    """Finds no package ecg_records, as if it weren't installed."""

    def find_spec(self, name, path=None, target=None):
        if name == "ecg_records":
            raise ModuleNotFoundError("No module named 'ecg_records'", name=name)


def test_headers_are_read_by_the_package_of_records_and_without_it_one_line_says_what_to_install(
    tmp_path, monkeypatch
):
    (tmp_path / "a.hea").write_text("a 12 500 5000\n#Dx: AF,STE\n", encoding="utf-8")
    assert json.loads(call("coverage", tmp_path, "--format", "json")[1])["leaves"]["AF"] == 1
    for name in [name for name in sys.modules if name.partition(".")[0] == "ecg_records"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NotInstalled(), *sys.meta_path])
    code, _, err = call("coverage", tmp_path)
    assert code == 2
    assert err.count("\n") == 1
    assert "pip install ecg-records" in err


def test_coverage_of_nothing_exits_3_and_of_a_missing_column_2(tmp_path):
    assert call("coverage", tmp_path)[0] == 3
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    assert call("coverage", tmp_path / "counts.csv", "--sources", "Ningbo")[0] == 2
    assert call("coverage", tmp_path / "counts.csv")[0] == 0


def test_a_deleted_edge_shows_as_one_moved_pair(excerpt, revision):
    code, out, _ = call("diff", excerpt, revision, "--format", "json")
    pair = {"a": "2AVB", "b": "3AVB", "old": 1, "new": 2, "leaves": True}
    assert (code, json.loads(out)["moved"]) == (0, [pair])
    assert "distance 2AVB – 3AVB: 1 → 2" in call("diff", excerpt, revision)[1]
    assert call("diff", excerpt, excerpt)[1] == "no difference in supervision\n"


def test_a_diff_counts_the_records_of_a_corpus(tmp_path, realdata):
    revision = shutil.copytree(SOURCES, tmp_path / "whole")
    edit(revision / "cardiac.ttl", *WITHOUT_17_18)
    out = call("diff", SOURCES, revision, "--corpus", realdata / "cinc2021")[1]
    assert "of 236 have another target" in out


@pytest.mark.parametrize("name", ["g.svg", "g.png", "g.pdf"])
def test_the_graph_is_drawn(tmp_path, name):
    assert call("export", tmp_path / name)[0] == 0
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
    assert call("validate", "--release", tmp_path / "nothing")[0] == 3
    code, out, _ = call("validate", "--release", release, "--profile", "curated", "--format", "json")
    assert (code, {finding["id"] for finding in json.loads(out)["findings"]}) == (1, {"CCG-E401"})
    assert call("validate", "--release", release, "--disable", "CCG-E401")[0] == 0


def test_no_command_opens_a_socket(monkeypatch, tmp_path, excerpt, revision, release):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    (tmp_path / "counts.csv").write_text("code,count\n164889003,2\n", encoding="utf-8")
    (tmp_path / "new.csv").write_text("code,label\nicd10:I48.1,persistent AF\n", encoding="utf-8")
    arguments = {
        **dict.fromkeys(("route", "target", "show"), ("164889003",)),
        **{"validate": (excerpt, "--release", release), "diff": (excerpt, revision), "search": ("fibr",)},
        "review": ("--out", tmp_path / "review.tsv"),
        "match": (tmp_path / "new.csv", "--out", tmp_path / "candidates.tsv"),
        **{"coverage": (tmp_path / "counts.csv",), "export": (tmp_path / "graph.owl",)},
        "build": (excerpt, "--out", tmp_path / "ccg.json", "--check"),
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


def test_a_folder_gets_the_packaged_sources_which_build_as_they_are(tmp_path):
    code, out, err = call("export", tmp_path / "mine")
    assert (code, out) == (0, f"{tmp_path / 'mine'}\n")
    assert call("build", tmp_path / "mine", "--out", tmp_path / "mine.json", "--check")[0] == 1
    assert "ecgonto build" in err
    assert (tmp_path / "mine" / "cardiac.ttl").read_bytes() == (SOURCES / "cardiac.ttl").read_bytes()
    assert call("export", tmp_path / "mine")[0] == 2


def test_a_mapping_that_fits_no_code_and_an_import_that_is_not_followed_are_said_on_stderr(tmp_path):
    (tmp_path / "codes.csv").write_text("id,code\n1,I48.91\n")
    (tmp_path / "mapping.csv").write_text("code,snomed\nX1,164889003\n")
    options = ("id_column=id", "code_column=code", "vocabulary=icd10", f"mapping={tmp_path / 'mapping.csv'}")
    settings = [f"--set=codes.{option}" for option in options]
    code, _, messages = call("coverage", tmp_path / "codes.csv", *settings)
    assert (code, "no row matches any of the 1 codes" in messages) == (0, True)
    text = (Path(__file__).parents[2] / "ontology" / "cardiac.ttl").read_text(encoding="utf-8")
    imports = text.replace("a owl:Ontology ;", "a owl:Ontology ; owl:imports <https://x.org/lobe> ;", 1)
    (tmp_path / "own.ttl").write_text(imports, encoding="utf-8")
    assert "owl:imports <https://x.org/lobe> is ignored" in call("validate", tmp_path / "own.ttl")[2]
