"""Neighbours: exact, whatever the blocks, files and parts."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from marecg.embedding import embedding_files
from marecg.errors import InputError, UsageError
from marecg.use.neighbours import neighbours

RECORDS = 50
IDS = [f"clinic/g{row % 3}/r{row}" for row in range(RECORDS)]


@pytest.fixture
def x_MW() -> NDArray[np.float32]:
    x = np.random.default_rng(0).normal(size=(RECORDS, 8)).astype(np.float32)
    x[31] = x[30] = 2 * x[4]  # a tie: as near as can be
    return x


def table(x_MW: NDArray[np.float32]) -> pa.Table:
    column = pa.FixedSizeListArray.from_arrays(pa.array(x_MW.ravel()), 8)
    return pa.table({"id": IDS, "codes": [[str(row)] for row in range(RECORDS)], "rhythm": column})


@pytest.fixture(params=["all.npz", "all.parquet", "parts"])
def place(request, tmp_path, x_MW) -> Path:
    path = tmp_path / request.param
    if path.suffix == ".npz":
        np.savez(path, id=np.array(IDS), rhythm=x_MW)
    elif path.suffix:
        pq.write_table(table(x_MW), path)
    else:
        path.mkdir()
        for first in range(0, RECORDS, 20):
            pq.write_table(table(x_MW).slice(first, 20), path / f"part-{first // 20:05d}.parquet")
    return path


def test_they_are_those_of_a_comparison_with_all(place, x_MW, monkeypatch):
    monkeypatch.setattr(embedding_files, "BATCH_ROWS", 7)
    nearest = neighbours(place, "r4", top=10)
    cosine_M = x_MW @ x_MW[4] / np.linalg.norm(x_MW, axis=1) / np.linalg.norm(x_MW[4])
    cosine_M[4] = -2
    best = np.argsort(-cosine_M, kind="stable")[:10]
    assert {each.id for each in nearest[:2]} == {IDS[30], IDS[31]}
    assert [each.id for each in nearest[2:]] == [IDS[row] for row in best[2:]]
    np.testing.assert_allclose([each.cosine for each in nearest], cosine_M[best], atol=1e-6)
    if place.suffix != ".npz":
        assert [each.codes for each in nearest[2:]] == [(str(row),) for row in best[2:]]
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
        ({"id": [1, 2]}, "id holds int64"),
        ({"rhythm": pa.array([[1.0, 2.0], [1.0]])}, "rhythm holds list"),
        ({"rhythm": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))}, "rhythm"),
        ({"rhythm": pa.array([["x"], ["y"]], pa.list_(pa.string(), 1))}, "rhythm holds"),
        ({"rhythm": pa.array([[0.0], [0.0]], pa.list_(pa.float32(), 1))}, "the vector of a has length 0"),
    ],
)
def test_a_table_of_another_program_is_one_clear_error(tmp_path, columns, problem):
    rhythm = pa.array([[1.0, 2.0], [2.0, 1.0]], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"id": ["a", "b"], "rhythm": rhythm} | columns), tmp_path / "theirs.parquet")
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
