"""`marecg cohort`, as a user runs it."""

import csv
import json

import pyarrow.parquet as pq
import pytest
from tests.cli.calls import invoke as run


def test_the_formats_say_the_same(corpus, tmp_path):
    command = ("cohort", corpus, "--where", "AF")
    _, as_csv, _ = run(*command)
    assert run(*command, "--out", tmp_path / "af.parquet")[0] == 0
    rows = pq.read_table(tmp_path / "af.parquet").to_pylist()
    assert rows
    assert rows == json.loads(run(*command, "--format", "json")[1])
    assert all("AF" in row["leaves"] for row in rows)
    assert [row["name"] for row in csv.DictReader(as_csv.splitlines())] == [row["name"] for row in rows]
    others = json.loads(run("cohort", corpus, "--where", "not AF", "--format", "json")[1])
    assert len(others) + len(rows) == 8


@pytest.mark.parametrize("name", ["af.csv", "af.json", "af.parquet"])
def test_nobody_but_the_owner_and_the_group_may_read_a_cohort(corpus, tmp_path, name):
    assert run("cohort", corpus, "--where", "AF", "--out", tmp_path / name)[0] == 0
    assert not (tmp_path / name).stat().st_mode & 0o007
