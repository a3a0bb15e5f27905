"""Neighbours: exact, whatever the blocks, files and parts."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from marecg.base.errors import InputError, UsageError
from marecg.use import embedding_files
from marecg.use.neighbours import neighbours

RECORDS = 50
IDS = [f"clinic/g{row % 3}/r{row}" for row in range(RECORDS)]


@pytest.fixture
def x_MW() -> NDArray[np.float32]:
    x = np.random.default_rng(0).normal(size=(RECORDS, 8)).astype(np.float32)
    x[31] = x[30] = 2 * x[4]  # a tie: as near as can be
    return x


def table(x_MW: NDArray[np.float32], rows: slice) -> pa.Table:
    column = pa.FixedSizeListArray.from_arrays(pa.array(x_MW[rows].ravel()), 8)
    codes = [[str(row)] for row in range(RECORDS)][rows]
    return pa.table({"id": IDS[rows], "codes": codes, "rhythm": column})


@pytest.fixture(params=["npz", "parquet", "parts"])
def place(request, tmp_path, x_MW) -> Path:
    if request.param == "npz":
        np.savez(tmp_path / "all.npz", id=np.array(IDS), rhythm=x_MW)
        return tmp_path / "all.npz"
    if request.param == "parquet":
        pq.write_table(table(x_MW, slice(None)), tmp_path / "all.parquet")
        return tmp_path / "all.parquet"
    for number, first in enumerate(range(0, RECORDS, 20)):
        pq.write_table(table(x_MW, slice(first, first + 20)), tmp_path / f"part-{number:05d}.parquet")
    return tmp_path


def test_they_are_those_of_a_comparison_with_all(place, x_MW, monkeypatch):
    monkeypatch.setattr(embedding_files, "BLOCK", 7)
    found = neighbours(place, "r4", top=10)
    cosine_M = x_MW @ x_MW[4] / np.linalg.norm(x_MW, axis=1) / np.linalg.norm(x_MW[4])
    cosine_M[4] = -2
    best = np.argsort(-cosine_M, kind="stable")[:10]
    assert {each.id for each in found[:2]} == {IDS[30], IDS[31]}
    assert [each.id for each in found[2:]] == [IDS[row] for row in best[2:]]
    np.testing.assert_allclose([each.cosine for each in found], cosine_M[best], atol=1e-6)
    if place.suffix != ".npz":
        assert [each.codes for each in found[2:]] == [(str(row),) for row in best[2:]]
    assert len(neighbours(place, IDS[4], top=1000)) == RECORDS - 1


def test_what_is_not_there_is_one_clear_error(place, tmp_path):
    with pytest.raises(UsageError, match="has no record r99"):
        neighbours(place, "r99")
    with pytest.raises(UsageError, match=r"has no column wide\. Embed with --readout wide"):
        neighbours(place, "r4", readout="wide")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no part-\*\.parquet"):
        neighbours(tmp_path / "empty", "r4")
    (tmp_path / "no.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="can't be read"):
        neighbours(tmp_path / "no.parquet", "r4")


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": [1, 2], "rhythm": None}, "id holds int64"),
        ({"id": ["a", "b"], "rhythm": pa.array([[1.0, 2.0], [1.0]])}, "rhythm holds list"),
        ({"id": ["a", "b"], "rhythm": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))}, "rhythm"),
        ({"id": ["a", "b"], "rhythm": pa.array([["x"], ["y"]], pa.list_(pa.string(), 1))}, "rhythm holds"),
    ],
)
def test_a_table_of_another_program_is_one_clear_error(tmp_path, columns, problem):
    rhythm = pa.array([[1.0, 2.0], [2.0, 1.0]], pa.list_(pa.float32(), 2))
    made = columns | {"rhythm": columns["rhythm"] if columns["rhythm"] is not None else rhythm}
    pq.write_table(pa.table(made), tmp_path / "theirs.parquet")
    with pytest.raises(InputError, match=f"theirs.parquet: {problem}"):
        neighbours(tmp_path / "theirs.parquet", "a")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "e.npz")
    with pytest.raises(InputError, match="isn't a file"):
        neighbours(tmp_path / "e.npz", "a")


def test_a_short_name_that_several_have_is_refused(tmp_path, x_MW):
    np.savez(tmp_path / "all.npz", id=np.array(["a/r1", "b/r1"]), rhythm=x_MW[:2])
    with pytest.raises(UsageError, match=r"r1 is the name of 2 records\. Name one: a/r1, b/r1"):
        neighbours(tmp_path / "all.npz", "r1")
    assert [each.id for each in neighbours(tmp_path / "all.npz", "b/r1")] == ["a/r1"]


def test_a_vector_of_no_direction_has_no_neighbours(tmp_path):
    np.savez(tmp_path / "all.npz", id=np.array(["a", "b"]), rhythm=np.zeros((2, 4), np.float32))
    with pytest.raises(InputError, match=r"the vector of a has length 0\. Embed it again"):
        neighbours(tmp_path / "all.npz", "a")
