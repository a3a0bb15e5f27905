"""A few cases of the fault matrix; `python -m tests.fuzz.faults` tries all."""

import pytest
from tests.fuzz.commands import COMMANDS
from tests.fuzz.faults import KILLS, SURROUNDINGS, Matrix

import marecg.corpus.prepare  # what the processes need, loaded once
import marecg.train.run
import marecg.use.embed_records  # noqa: F401


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(tmp_path_factory.mktemp("matrix"))


def test_nothing_is_left_and_nothing_differs_whatever_happens_to_a_command(matrix):
    assert len(list(matrix.cases())) == len(COMMANDS) * len(KILLS) * 3 + 3 * len(SURROUNDINGS)
    quick = [each for each in COMMANDS if each.out != ".pt2" and "many" not in each.words]
    assert matrix.try_some(6, 2, quick) == []


def test_a_file_that_is_left_is_told(matrix):
    whole, _ = matrix.whole(COMMANDS[0])
    out = matrix._out(COMMANDS[0], "case")
    (out.parent / ".out-left").touch()
    with pytest.raises(AssertionError, match="another result"):
        matrix._same(COMMANDS[0], out, whole)
