import numpy as np
import pytest

from marecg.errors import InputError
from marecg.evaluate.methods.external import read_features
from marecg.evaluate.tasks.task import Recordings

RECORDINGS = Recordings("made", ("a", "b", "c"), "0" * 64, "", lambda row: np.zeros((12, 1), np.float32))


def test_features_are_matched_by_id_in_any_order_and_what_is_absent_is_named(tmp_path):
    np.savez(tmp_path / "f.npz", ids=["c", "x", "a"], features=[[3.0], [9.0], [1.0]])
    found = read_features(tmp_path / "f.npz", RECORDINGS)
    np.testing.assert_array_equal(found.x_RF, [[1], [np.nan], [3]])
    assert found.unreadable == {"b": "not in f.npz"}


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"ids": ["a"]}, "can't be read"),
        ({"ids": ["a"], "features": np.array([object()])}, "can't be read"),
        ({"ids": ["a", "a"], "features": np.zeros((2, 1))}, "1 different ids"),
        ({"ids": ["a"], "features": np.zeros((2, 1))}, "shape"),
        ({"ids": ["a"], "features": np.zeros(1)}, "shape"),
        ({"ids": ["a"], "features": [[np.inf]]}, "NaN or infinite"),
        ({"ids": ["z"], "features": [[1.0]]}, "knows none of the 3 recordings"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(arrays, problem, tmp_path):
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(InputError, match=problem):
        read_features(tmp_path / "f.npz", RECORDINGS)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no\.npz"):
        read_features(tmp_path / "no.npz", RECORDINGS)
