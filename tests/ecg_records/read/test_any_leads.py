"""Records on disk are found and read with the leads that they have, each under a name of its own."""

import numpy as np
import pytest
from tests.made_records import make_record

from ecg_base import UsageError
from ecg_records import read
from ecg_records.errors import RecordError
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.inputs import find_inputs
from ecg_records.signal.leads import LEADS, parse_leads, signals_as
from ecg_synth import write_corpus


def test_arrays_of_a_folder_are_read_row_by_row_with_the_leads_named(tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 2, 1000)).astype(np.float32)
    np.save(tmp_path / "many.npy", x)
    np.save(tmp_path / "one.npy", x[0].T)
    candidates = find_inputs([tmp_path], Layout(250, ("II", "V1")))
    assert list(candidates) == [*(f"{tmp_path.name}/many/{row}" for row in range(3)), f"{tmp_path.name}/one"]
    for candidate, expected in zip(candidates.values(), [*x, x[0]], strict=True):
        record = candidate.read()
        np.testing.assert_array_equal(record.x_KL, expected)
        assert (record.fs, record.leads) == (250, ("II", "V1"))


def test_twelve_leads_come_in_the_order_of_every_tensor(tmp_path):
    x = np.arange(12, dtype=np.float32)[:, None] * np.ones((12, 500), np.float32)
    np.save(tmp_path / "mixed.npy", x[::-1])
    [(name, candidate)] = find_inputs([tmp_path / "mixed.npy"], Layout(500, LEADS[::-1])).items()
    record = candidate.read()
    assert (name, record.leads) == ("mixed", LEADS)
    np.testing.assert_array_equal(record.x_KL, x)


def test_a_record_is_there_once_however_often_it_is_named(tmp_path):
    write_corpus(tmp_path / "wfdb", 2, 0)
    header = sorted((tmp_path / "wfdb").rglob("*.hea"))[0]
    paths = [tmp_path / "wfdb", header, header.with_suffix(""), header.with_suffix(".mat")]
    assert [each.read().leads for each in find_inputs(paths).values()] == [LEADS, LEADS]


def test_a_record_with_some_of_the_leads_is_read_with_those_and_has_not_all_twelve(tmp_path):
    x_KL = np.random.default_rng(0).normal(size=(3, 1000))
    header = make_record(tmp_path, x_CL=x_KL, leads=["V1", "vx", "I"])
    record = read(header)
    assert record.leads == ("I", "V1")
    np.testing.assert_allclose(record.x_KL, x_KL[[2, 0]], atol=6e-4)
    with pytest.raises(RecordError, match="lacks the leads II, III"):
        _ = record.x_CL


def test_signals_of_other_names_are_read_as_the_leads_that_are_named(tmp_path):
    x_KL = np.random.default_rng(0).normal(size=(2, 1000))
    header = make_record(tmp_path, x_CL=x_KL, leads=["MLII", "ECG1"])
    with pytest.raises(RecordError, match="none of the twelve leads"):
        read(header)
    record = read(header, leads={"mlii": "II", "ECG1": "V5"})
    assert record.leads == ("II", "V5")
    np.testing.assert_allclose(record.x_KL, x_KL, atol=6e-4)
    assert "read as named: MLII as II, ECG1 as V5" in record.notes
    own = make_record(tmp_path, "own", x_CL=x_KL, leads=["II", "V5"])
    assert read(own, leads={"MLII": "II", "V5": "V5"}).notes == read(own).notes
    assert read(header, leads={"MLII": "II"}).leads == ("II",)
    with signals_as({"MLII": "II"}):
        [candidate] = find_inputs([header]).values()
    assert candidate.read().leads == ("II",)
    with pytest.raises(UsageError, match="unknown"):
        read(header, leads={"MLII": "M2"})
    with pytest.raises(UsageError, match="must have different names"):
        read(header, leads={"MLII": "II", "ECG1": "II"})
    assert parse_leads("MLII=II,V5=V5") == {"MLII": "II", "V5": "V5"}
    with pytest.raises(UsageError, match="must look like MLII=II,V5=V5"):
        parse_leads("MLII")
    with pytest.raises(UsageError, match="must name each signal once"):
        parse_leads("MLII=II,mlii=V5")


def test_a_column_of_another_name_keeps_its_unit_after_the_file_was_read_without_it(tmp_path):
    file, x_LK = tmp_path / "a.csv", np.random.default_rng(0).normal(size=(1000, 2)).round(3)
    header = "MLII (uV),V5 (mV)"
    np.savetxt(file, x_LK * [1000, 1], "%.3f", ",", header=header, comments="")
    assert read(file, Layout(fs=250)).leads == ("V5",)
    for name in ("mlii", "MLII (uV)"):
        record = read(file, Layout(fs=250), leads={name: "II"})
        assert record.leads == ("II", "V5")
        np.testing.assert_allclose(record.x_KL, x_LK.T, atol=1e-6)


@pytest.mark.parametrize("named", ["a.b", "a.b.hea", "a.b.mat"])
def test_a_name_with_a_dot_in_it_means_the_record_of_that_name(tmp_path, named):
    make_record(tmp_path, "a.b", comments=["Dx: 164889003"])
    make_record(tmp_path, "a", comments=["Dx: 426783006"])
    [(name, candidate)] = find_inputs([tmp_path / named]).items()
    assert (name, candidate.read().codes) == ("a.b", ("164889003",))


def test_records_of_one_name_in_several_folders_are_told_apart(tmp_path):
    folders = [tmp_path / "siteA" / "p0", tmp_path / "siteA" / "p1", tmp_path / "siteB" / "p0"]
    headers = [make_record(folder, "ecg") for folder in folders]
    assert list(find_inputs([tmp_path / "siteA"])) == ["siteA/p0/ecg", "siteA/p1/ecg"]
    assert list(find_inputs(headers)) == ["siteA/p0/ecg", "p1/ecg", "siteB/p0/ecg"]
    assert list(find_inputs([folders[0], folders[2]])) == ["siteA/p0/ecg", "siteB/p0/ecg"]


def test_a_folder_of_several_records_is_not_one_record(tmp_path):
    make_record(tmp_path, "a")
    assert read(tmp_path).id == "a"
    make_record(tmp_path, "b")
    with pytest.raises(UsageError, match="must have exactly one record, got 2"):
        read(tmp_path)
