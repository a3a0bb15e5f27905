"""MATLAB files of level 5 are read as scipy reads them, and a damaged one never does harm."""

import io
import struct
import warnings
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import loadmat, savemat
from scipy.io.matlab import matfile_version

from ecg_records.readers.arrays.mat5 import HEADER, Variable, variables

TYPES = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
MATLABS_OWN = Path(scipy.io.__file__).parent / "matlab" / "tests" / "data"
"""Files that MATLAB 6 to 7.4 wrote on Linux and Solaris; some distributions of scipy leave them out."""


def saved(path: Path, compressed: bool = False, **content) -> dict[str, Variable]:
    savemat(path, content, do_compression=compressed)
    return {variable.name: variable for variable in variables(path)}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("shape", [(3, 12, 50), (1, 1), (0, 3)])
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_come_out_as_they_went_in(tmp_path, dtype, shape, compressed):
    x = np.random.default_rng(0).uniform(0, 100, shape).astype(dtype)
    variable = saved(tmp_path / "a.mat", compressed, x=x)["x"]
    assert variable.real
    assert (variable.shape, variable.value.dtype) == (shape, x.dtype)
    np.testing.assert_array_equal(variable.value, x)
    np.testing.assert_array_equal(variable[slice(1, None),], x[1:])


@pytest.mark.parametrize("compressed", [False, True])
def test_a_struct_gives_its_numbers_and_texts_by_name(tmp_path, compressed):
    inside = {"sex": "Männlich", "age": 74, "data": np.eye(3), "nothing": [], "more": {"a": 1}}
    ecg = saved(tmp_path / "a.mat", compressed, ECG=inside)["ECG"]
    assert not ecg.real
    assert ecg.value["sex"] == "Männlich"
    assert ecg.value["age"] == [[74]]
    np.testing.assert_array_equal(ecg.value["data"], np.eye(3))
    assert ecg.value["nothing"].size == 0
    assert ecg.value["more"] is None


def test_cells_and_complex_numbers_are_no_real_numbers(tmp_path):
    found = saved(tmp_path / "a.mat", cell=np.array([1, "a"], object), z=np.array([1 + 2j]), text="abc")
    assert not any(variable.real for variable in found.values())
    assert [variable.value for variable in found.values()] == [None, None, "abc"]


@pytest.mark.skipif(not MATLABS_OWN.is_dir(), reason="scipy was installed without its test files")
def test_files_that_matlab_wrote_are_read_as_scipy_reads_them():
    read = 0
    for path in sorted(MATLABS_OWN.glob("test*_[67]*.mat")):
        if matfile_version(path)[0] != 1:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = loadmat(path)
        for variable in variables(path):
            if variable.real:
                np.testing.assert_array_equal(variable.value, expected[variable.name])
                read += 1
            elif variable.name == "teststruct":
                assert variable.value["stringfield"] == "Rats live on no evil star."
                read += 1
    assert read > 20


def test_a_file_that_ends_scipys_process_is_an_error(tmp_path):
    """A field of its struct is said to have no axes."""
    saved(tmp_path / "a.mat", ECG={"sex": "Male", "age": 74.0, "data": np.zeros((12, 100))})
    content = bytearray((tmp_path / "a.mat").read_bytes())
    content[236:240] = bytes(4)
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ValueError, match="no valid shape"):
        _ = variables(tmp_path / "a.mat")[0].value


def whole(compressed: bool) -> bytes:
    file = io.BytesIO()
    ecg = {"sex": "Male", "age": 74.0, "data": np.arange(24.0).reshape(12, 2)}
    savemat(file, {"ECG": ecg, "x": np.zeros((2, 3, 4))}, do_compression=compressed)
    return file.getvalue()


WHOLE = {compressed: whole(compressed) for compressed in (False, True)}


CHANGES = st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=4)), min_size=1)


@given(st.booleans(), CHANGES)
def test_whatever_is_damaged_the_answer_is_values_or_an_error(tmp_path_factory, compressed, changes):
    path = tmp_path_factory.getbasetemp() / "damaged.mat"
    content = bytearray(WHOLE[compressed])
    for place, change in changes:
        start = place % len(content)
        content[start : start + len(change)] = change
    path.write_bytes(content)
    with suppress(ValueError):
        assert all(variable.value is not variable for variable in variables(path))


def test_what_is_compressed_is_inflated_no_further_than_it_announces(tmp_path):
    """The variable says 16 bytes, and a hundred million follow."""
    inside = struct.pack("<IIIIII", 14, 16, 6, 8, 6, 0) + bytes(100_000_000)
    packed = zlib.compress(inside)
    content = WHOLE[False][:HEADER] + struct.pack("<II", 15, len(packed)) + packed
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ValueError, match="is incomplete"):
        variables(tmp_path / "a.mat")
