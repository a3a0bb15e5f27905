"""A few cases of the fault matrix; `python -m tests.fuzz.faults` tries all."""

import pytest
from tests.fuzz.faults import COMMANDS, KILLS, SURROUNDINGS, Matrix

import marecg.corpus.export  # what the processes need, loaded once
import marecg.corpus.prepare
import marecg.train.run
import marecg.use.embed_records  # noqa: F401


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(tmp_path_factory.mktemp("matrix"))


def test_nothing_is_left_and_nothing_differs_whatever_happens_to_a_command(matrix):
    assert len(list(matrix.cases())) == len(COMMANDS) * len(KILLS) * 3 + 3 * len(SURROUNDINGS)
    assert matrix.try_some(4, seed=2) == []


def test_a_file_that_is_left_is_told(matrix):
    whole, _ = matrix.whole(COMMANDS[0])
    out = matrix._out(COMMANDS[0], "case")
    (out.parent / ".out-left").touch()
    with pytest.raises(AssertionError, match="another result"):
        matrix._same(COMMANDS[0], out, whole)
