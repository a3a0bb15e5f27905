"""A long recording is read in stretches, and what passes the bounds is refused before it is read."""

import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import wfdb
from numpy.typing import NDArray
from scipy.io import savemat
from tests.ecg_records import clinical_files as files

from ecg_records import read, stretch
from ecg_records.errors import RecordError
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.inputs import find_one
from ecg_records.signal.leads import LEADS


def _wfdb(path: Path, x_CL: NDArray[np.float64]) -> None:
    scale = {"fmt": [path.parent.name] * 12, "adc_gain": [1000 / files.STEP_UV] * 12, "baseline": [0] * 12}
    d_LC = files.steps(x_CL).T.astype(int)
    wfdb.wrsamp("r", 500, ["mV"] * 12, list(LEADS), d_signal=d_LC, write_dir=str(path.parent), **scale)


def _hdf5(path: Path, x_CL: NDArray[np.float64]) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = x_CL.T


def _one_instant_a_row(path: Path, x_CL: NDArray[np.float64]) -> None:
    pq.write_table(pa.table(dict(zip(LEADS, x_CL, strict=True))), path, row_group_size=1000)


def _text(separator: str, heading: str = "", decimal: str = "."):
    def write(path, x_CL):
        np.savetxt(path, x_CL.T, "%.4f", separator, header=heading, comments="")
        path.write_text(path.read_text().replace(".", decimal))

    return write


WRITERS: dict[str, Callable[[Path, NDArray[np.float64]], object]] = {
    **{name: write for name, write in files.FILES.items() if name != "p.xml"},  # whose mark shifts its end
    "16/r.hea": _wfdb,
    "212/r.hea": _wfdb,
    "a.npy": np.save,
    "rows.npz": lambda path, x_CL: np.savez_compressed(path, x=x_CL),
    "columns.npz": lambda path, x_CL: np.savez_compressed(path, x=x_CL.T),
    "a.h5": _hdf5,
    "a.parquet": _one_instant_a_row,
    "a.csv": _text(",", ",".join(LEADS)),
    "a.tsv": _text("\t", "\t".join(f"lead_{lead}" for lead in LEADS)),
    "semicolons.csv": _text(";", ";".join(LEADS), ","),
    "a.txt": _text(" "),
    "4.mat": lambda path, x_CL: savemat(path, {"x": x_CL}, format="4"),
    "5.mat": lambda path, x_CL: savemat(path, {"x": x_CL}),
    "packed.mat": lambda path, x_CL: savemat(path, {"x": x_CL.T}, do_compression=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_stretches_side_by_side_are_the_recording_to_the_bit(tmp_path, x_CL, name):
    """So the vector of a record is the same through every format, as docs/corpus/limits.md says."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    WRITERS[name](path, x_CL)
    plain = path.suffix not in {".hea", ".xml", ".dcm", ".edf", ".scp"}
    candidate = find_one(path, Layout(fs=500) if plain else None)
    pieces = [candidate.read(seconds=3.3, start=3.3 * number) for number in range(4)]
    assert {piece.length for piece in pieces} == {5000}
    assert [piece.x_KL.shape[1] for piece in pieces] == [1650, 1650, 1650, 50]
    for x_KL in (candidate.read().x_KL, np.concatenate([piece.x_KL for piece in pieces], axis=1)):
        np.testing.assert_array_equal(x_KL, x_CL.astype(np.float32))


def sparse(path: Path, size: int, begin: bytes = b"") -> Path:
    path.write_bytes(begin)
    with path.open("r+b") as file:
        file.truncate(size)
    return path


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("a.dcm", bytes(128) + b"DICM"),
        ("deflated.dcm", bytes(128) + b"DICM" + b"1.2.840.10008.1.2.1.99\0"),
        ("a.xml", b"<AnnotatedECG>"),
        ("a.scp", bytes(16) + b"SCPECG"),
    ],
)
def test_a_file_of_gigabytes_that_would_be_read_whole_is_refused_at_once(tmp_path, name, begin):
    path = sparse(tmp_path / name, 4 << 30, begin)
    began = time.process_time()
    with pytest.raises(RecordError, match="must have at most 64 MB, got 4,096 MB") as caught:
        read(path)
    assert (caught.value.reason, time.process_time() - began < 5) == ("too-long", True)


def test_a_recording_of_weeks_and_hours_at_once_are_refused(tmp_path):
    samples = stretch.LONGEST + 1
    lines = [f"r.dat 16 1000/mV 16 0 0 0 0 {lead}" for lead in LEADS[:2]]
    header = tmp_path / "r.hea"
    sparse(tmp_path / "r.dat", 4 * samples)
    header.write_text("\n".join([f"r 2 500 {samples}", *lines, ""]))
    with pytest.raises(RecordError, match="must have at most 100,000,000 samples per lead, got 100,000,001"):
        find_one(header).read(seconds=10)
    header.write_text("\n".join([f"r 2 500 {samples // 10}", *lines, ""]))
    with pytest.raises(RecordError, match="to be read at once"):
        find_one(header).read()
    assert find_one(header).read(seconds=10, start=9000).x_KL.shape == (2, 5000)


def test_a_header_of_a_hundred_thousand_codes_is_read_in_time(tmp_path):
    codes = ",".join(str(10**8 + number) for number in range(100_000))
    header = tmp_path / "r.hea"
    header.write_text(f"r 1 500 5000\nr.dat 16 1000/mV 16 0 0 0 0 II\n#Dx: {codes}\n")
    sparse(tmp_path / "r.dat", 10_000)
    began = time.process_time()
    with pytest.raises(RecordError, match="must have at most 1,000 codes, got 100,000"):
        read(header)
    assert time.process_time() - began < 2


def test_digits_without_end_cost_no_more_than_the_file(tmp_path, x_CL):
    path = tmp_path / "a.xml"
    files.FILES["a.xml"](path, x_CL)
    text = path.read_text()
    begin = text.index("<digits>") + len("<digits>")
    path.write_text(text[:begin] + "1 " * 1_000_000 + text[text.index("</digits>") :])
    began = time.process_time()
    with pytest.raises(RecordError, match="leads must have the same length, got 5000 and"):
        read(path)
    assert time.process_time() - began < 1.25
