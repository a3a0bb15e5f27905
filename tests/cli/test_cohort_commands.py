"""`marecg cohort` and `marecg neighbours`, as a user runs them."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.calls import invoke as run

from marecg.corpus.prepare import prepare
from marecg.synth import write_corpus
from marecg_cli.marecg import main


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four records of atrial fibrillation and of sinus rhythm."""
    folder = tmp_path_factory.mktemp("cohorts")
    write_corpus(folder / "wfdb", 4, 0, diagnoses=("AF", "NSR"))
    prepare([folder / "wfdb"], folder / "corpus", jobs=1)
    return folder / "corpus"


def test_the_formats_say_the_same(corpus, tmp_path):
    asked = ("cohort", corpus, "--where", "AF")
    _, as_csv, _ = run(*asked)
    _, as_json, _ = run(*asked, "--format", "json")
    code, _, _ = run(*asked, "--out", tmp_path / "af.parquet")
    assert code == 0
    rows = pq.read_table(tmp_path / "af.parquet").to_pylist()
    assert rows == json.loads(as_json)
    assert rows
    assert all("AF" in row["leaves"] for row in rows)
    assert [row["name"] for row in csv.DictReader(as_csv.splitlines())] == [row["name"] for row in rows]
    others = json.loads(run("cohort", corpus, "--where", "not AF", "--format", "json")[1])
    assert len(others) + len(rows) == 4


@pytest.mark.parametrize("name", ["af.csv", "af.json", "af.parquet"])
def test_nobody_but_the_owner_and_the_group_may_read_a_cohort(corpus, tmp_path, name):
    assert run("cohort", corpus, "--where", "AF", "--out", tmp_path / name)[0] == 0
    assert not (tmp_path / name).stat().st_mode & 0o007


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--where", "AF and"), "position 7: a concept or a field is missing"),
        (("--where", "AF", "--format", "parquet"), "Parquet isn't text for a terminal"),
        (("--where", "AF", "--out", "af.xlsx"), "can't tell a format from af.xlsx"),
    ],
)
def test_wrong_usage_ends_in_one_line(corpus, options, problem, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["cohort", str(corpus), *options])
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err


def test_neighbours_are_printed_nearest_first(tmp_path):
    file = tmp_path / "all.npz"
    np.savez(file, id=np.array(["a/1", "a/2", "a/3"]), rhythm=np.array([[1, 0], [0, 1], [2, 1]], np.float32))
    assert run("neighbours", file, "1") == (0, " 0.8944  a/3\n 0.0000  a/2\n", "")
    found = json.loads(run("neighbours", file, "a/1", "--top", 1, "--format", "json")[1])
    assert [each["id"] for each in found] == ["a/3"]
