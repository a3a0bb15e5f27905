"""CODE-15 % as Zenodo publishes it: padding isn't a signal, and exams know their patients."""

import os
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_ecg

from ecg_records.errors import CorpusError, RecordError
from ecg_records.readers.datasets import code15, ptbdb
from ecg_records.readers.discovery import find
from marecg.corpus.account import Account
from marecg.corpus.prepare import prepare

HEAD = (
    "exam_id,age,is_male,nn_predicted_age,1dAVb,RBBB,LBBB,SB,ST,AF,"
    "patient_id,death,timey,normal_ecg,trace_file\n"
)
ROWS = (
    "1169160,38,True,40.16,False,False,False,False,False,False,523632,False,2.09,True,exams_part0.hdf5\n"
    "2873686,73,True,67.05,False,True,False,False,True,False,1724173,False,6.65,False,exams_part0.hdf5\n"
    "168405,67,False,79.62,False,False,False,False,False,True,523632,False,4.28,False,exams_part1.hdf5\n"
)


def padded(x_CL: np.ndarray) -> np.ndarray:
    """[C, L] in mV → the published form [4096, 12]."""
    tracing = np.zeros((4096, 12), np.float32)
    first = (4096 - x_CL.shape[1]) // 2
    tracing[first : first + x_CL.shape[1]] = 2 * x_CL.T
    return tracing


@pytest.fixture
def root(tmp_path) -> Path:
    """Two parts: 10 s, 7 s and a row of zeros; 10 s."""
    folder = tmp_path / "code15"
    folder.mkdir()
    (folder / "exams.csv").write_text(HEAD + ROWS)
    first = [padded(make_ecg(10, 400)), padded(make_ecg(7, 400)), np.zeros((4096, 12))]
    parts = [([1169160, 2873686, 0], first), ([168405], [padded(make_ecg(10, 400, seed=1))])]
    for number, (ids, tracings) in enumerate(parts):
        with h5py.File(folder / f"exams_part{number}.hdf5", "w") as file:
            file["exam_id"], file["tracings"] = np.array(ids), np.array(tracings, np.float32)
    return folder


def test_the_padding_is_no_signal(root):
    ten, seven, nothing, _ = find([root])
    assert [each.read().length for each in (ten, seven)] == [4000, 2800]
    np.testing.assert_allclose(seven.read().x_CL, make_ecg(7, 400), atol=1e-6)
    np.testing.assert_allclose(seven.read(seconds=2).x_CL, make_ecg(7, 400)[:, :800], atol=1e-6)
    with pytest.raises(RecordError, match="row 2 has only padding and no samples"):
        nothing.read()


def test_zeros_inside_the_signal_stay():
    x_CL = np.zeros((12, 100), np.float32)
    x_CL[3, 20], x_CL[5, 60] = 1, 1
    np.testing.assert_array_equal(code15.unpadded(x_CL), x_CL[:, 20:61])


def test_a_corpus_of_it_counts_every_row_and_keeps_patients_ages_and_diagnoses(root, tmp_path):
    report = prepare([root], tmp_path / "out", jobs=1)
    assert report.sources == {"code-15": Account(found=4, kept=3, quarantined={"truncated": 1})}
    rows = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()
    assert [(row["id"], row["patient"], row["age"], row["sex"], row["fs"]) for row in rows] == [
        ("1169160", "523632", 38, "M", 400),
        ("2873686", "1724173", 73, "M", 400),
        ("168405", "523632", 67, "F", 400),
    ]
    assert [row["codes"] for row in rows] == [["426783006"], ["59118001", "427084000"], ["164889003"]]
    assert [row["n_valid"] for row in rows] == [4700, 3500, 4700]


def test_an_exam_that_the_table_does_not_know_has_no_patient_and_says_so(root):
    (root / "exams.csv").write_text(HEAD)
    record = next(iter(find([root]))).read()
    assert (record.patient, record.notes) == (None, ("exam 1169160 is not in exams.csv", "no diagnosis"))


def test_a_table_that_makes_no_sense_is_one_clear_error(root):
    (root / "exams.csv").write_text("exam_id,trace_file\n1,exams_part0.hdf5\n")
    with pytest.raises(CorpusError, match=r"exams\.csv"):
        find([root])


def test_a_damaged_row_costs_its_exam_the_labels_and_no_other(root):
    good, before = (root / "exams.csv").read_text(), [each.key for each in find([root])]
    (root / "exams.csv").write_text(f"{good}x,1,True{',' * 12}\n")
    assert [each.key for each in find([root])] == before


def test_a_damaged_part_is_one_quarantined_record(root):
    (root / "exams_part7.hdf5").write_bytes((root / "exams_part0.hdf5").read_bytes()[:900])
    os.mkfifo(root / "exams_part8.hdf5")
    candidates = find([root])
    assert len(candidates) == 6
    for candidate in candidates[-2:]:
        with pytest.raises(RecordError, match=r"exams_part[78]\.hdf5: can't be read"):
            candidate.read()


@pytest.mark.realdata
def test_its_codes_and_those_of_the_ptb_database_are_in_the_official_map(realdata):
    official = {line.split(",")[0] for line in (realdata / "meta" / "dx_map.csv").read_text().splitlines()}
    assert {*code15.CODES.values(), *ptbdb.CODES.values()} <= official
