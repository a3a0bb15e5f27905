"""Every dataset is read in the layout in which it is published, found by what its root holds."""

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import wfdb
from scipy.io import savemat
from tests.made_records import make_ecg, make_record

from ecg_records.errors import CorpusError, RecordError
from ecg_records.readers.datasets import cinc2021
from ecg_records.readers.discovery import find
from ecg_records.readers.wfdb import read_record
from ecg_records.record import Record
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import resample
from ecg_records.stretch import Stretch
from marecg.corpus.account import Account
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.corpus.statistics import statistics
from marecg.model.stored_signal import window


def only_record(root: Path) -> Record:
    [candidate] = find([root])
    return candidate.read()


def test_a_collection_is_known_by_its_folder_at_any_depth():
    root = Path("/data/training")
    assert cinc2021.collection(root / "georgia" / "g1" / "E00001.hea", root) == "georgia"
    assert cinc2021.collection(root / "georgia" / "g1" / "E00001.hea", root / "georgia") == "georgia"
    assert cinc2021.collection(root / "ours" / "x.hea", root) == "ours"
    assert cinc2021.collection(root / "x.hea", root) == "training"


def test_chapman_and_ningbo_are_told_apart_in_their_common_tree():
    root = Path("/data/ecg-arrhythmia")
    for name in ("WFDBRecords/01/010/JS00001.hea", "JS10646.hea"):
        assert cinc2021.collection(root / name, root) == "chapman_shaoxing"
    for name in ("WFDBRecords/46/460/JS45551.hea", "JS10647.hea"):
        assert cinc2021.collection(root / name, root) == "ningbo"


def test_every_collection_of_the_challenges_is_named_in_the_account(tmp_path):
    names = (*cinc2021.COLLECTIONS, "undisclosed")
    for number, name in enumerate(names):
        make_record(tmp_path / "training" / name / "g1", f"X{number:04d}")
    report = prepare([tmp_path / "training"], tmp_path / "out", jobs=1)
    assert report.sources.keys() == statistics(tmp_path / "out").sources.keys() == set(names)
    assert all(account.kept == 1 for account in report.sources.values())


def test_half_an_hour_at_257_hz_is_read_only_as_far_as_the_window_goes(tmp_path):
    """St Petersburg INCART as the Challenges have it: 462,600 samples per lead."""
    x_CL = np.concatenate([make_ecg(20, 257), np.full((12, 1780 * 257), 9.0)], axis=1)
    folder = tmp_path / "st_petersburg_incart" / "g1"
    header = make_record(folder, "I0001", x_CL, fs=257, comments=["Age: 65", "Sex: Male", "Dx: 164884008"])
    report = prepare([tmp_path], tmp_path / "out", jobs=1)
    assert report.sources == {"st_petersburg_incart": Account(found=1, kept=1, quarantined={})}
    row = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()[0]
    assert (row["fs"], row["length"], row["n_valid"]) == (257, 462_600, 4700)
    np.testing.assert_allclose(np.diff(row["rpeaks"]), 400, atol=3)
    expected, _ = window(resample(make_ecg(20, 257).astype(np.float32), 257), 4700)
    np.testing.assert_allclose(Corpus.open(tmp_path / "out").signals([0])[0], expected, atol=5e-3)
    tracemalloc.start()
    read_record(header, tmp_path, Stretch(seconds=9.9))
    assert tracemalloc.get_traced_memory()[1] < 2 << 20, "of 11 MB of samples"
    tracemalloc.stop()


@pytest.fixture
def cpsc(tmp_path) -> Path:
    savemat(tmp_path / "A0001.mat", {"ECG": {"sex": "Male", "age": 74, "data": make_ecg()}})
    (tmp_path / "REFERENCE.csv").write_text("Recording,First_label,Second_label,Third_label\nA0001,5,2,\n")
    return tmp_path


def test_cpsc2018_is_read_as_its_organisers_published_it(cpsc):
    record = only_record(cpsc)
    assert (record.id, record.source, record.codes) == ("A0001", "cpsc2018", ("59118001", "164889003"))
    assert (record.age, record.sex, record.length) == (74, "M", 5000)
    np.testing.assert_allclose(record.x_CL, make_ecg(), atol=1e-6)


def test_cpsc2018_is_found_in_the_folders_of_its_three_archives(cpsc):
    (cpsc / "TrainingSet3").mkdir()
    (cpsc / "TrainingSet1").mkdir()
    (cpsc / "REFERENCE.csv").rename(cpsc / "TrainingSet3" / "REFERENCE.csv")
    (cpsc / "A0001.mat").rename(cpsc / "TrainingSet1" / "A0001.mat")
    record = only_record(cpsc)
    assert (record.id, record.codes) == ("A0001", ("59118001", "164889003"))


def test_a_cpsc2018_recording_that_is_missing_or_damaged_is_quarantined(cpsc, tmp_path):
    table = cpsc / "REFERENCE.csv"
    table.write_text(table.read_text() + "A0002,1,,\nA0003,1,,\nA0004,1,,\nA0005,1,,\n../A0001,1,,\n")
    (cpsc / "A0003.mat").write_bytes((cpsc / "A0001.mat").read_bytes()[:300])
    savemat(cpsc / "A0004.mat", {"other": 1})
    savemat(cpsc / "A0005.mat", {"ECG": {"sex": "Male", "age": 74, "data": np.zeros((3, 5))}})
    report = prepare([cpsc], tmp_path / "out", jobs=1)
    assert (report.found, report.kept) == (6, 1)
    assert report.quarantined == {"missing-lead": 1, "no-signal-file": 1, "path": 1, "unreadable": 2}


def test_a_table_of_labels_without_its_columns_is_one_clear_error(cpsc):
    (cpsc / "REFERENCE.csv").write_text("Recording,First_label\nA0001,1\n")
    with pytest.raises(CorpusError, match=r"REFERENCE\.csv"):
        find([cpsc])


def test_labels_that_make_no_sense_cost_one_recording_and_no_other(cpsc, tmp_path):
    table = "Recording,First_label,Second_label,Third_label\nA0001,5,2,\nA0002,99,,\nM\xfcller,1,,\n"
    (cpsc / "REFERENCE.csv").write_bytes(table.encode("latin-1"))
    (cpsc / "A0002.mat").write_bytes((cpsc / "A0001.mat").read_bytes())
    report = prepare([cpsc], tmp_path / "out", jobs=1)
    assert (report.kept, report.quarantined) == (1, {"labels": 1, "no-signal-file": 1})


def test_the_ptb_database_gives_codes_for_words_and_patients_for_folders(tmp_path):
    folder = tmp_path / "patient001"
    folder.mkdir()
    order = [*(lead.lower() for lead in LEADS), "vx", "vy", "vz"]
    x_CL = np.concatenate([make_ecg(12, 1000), make_ecg(12, 1000)[:3]])
    wfdb.wrsamp(
        "s0010_re", fs=1000, units=["mV"] * 15, sig_name=order, p_signal=x_CL.T, fmt=["16"] * 15,
        adc_gain=[2000.0] * 15, baseline=[0] * 15, write_dir=str(folder),
        comments=["age: 81", "sex: female", "Reason for admission: Myocardial infarction"],
    )  # fmt: skip
    record = only_record(tmp_path)
    assert (record.source, record.patient, record.codes) == ("ptbdb", "patient001", ("164865005",))
    assert (record.age, record.sex, record.fs) == (81, "F", 1000)
    np.testing.assert_allclose(record.x_CL, make_ecg(12, 1000), atol=1e-3)


def test_a_ptb_record_whose_frank_leads_are_in_a_file_of_their_own_is_read(tmp_path):
    """As published: `s0010_re.dat` with twelve signals, `s0010_re.xyz` with three."""
    folder = tmp_path / "patient001"
    folder.mkdir()
    digital = np.rint(make_ecg(12, 1000) * 2000).astype("<i2")
    digital.T.tofile(folder / "s0010_re.dat")
    digital[:3].T.tofile(folder / "s0010_re.xyz")
    lines = ["s0010_re 15 1000 12000"]
    lines += [f"s0010_re.dat 16 2000 16 0 0 0 0 {lead.lower()}" for lead in LEADS]
    lines += [f"s0010_re.xyz 16 2000 16 0 0 0 0 {lead}" for lead in ("vx", "vy", "vz")]
    lines += ["# age: 81", "# sex: female", "# Diagnose:", "# Reason for admission: Heart failure (NYHA 2)"]
    (folder / "s0010_re.hea").write_text("\n".join(lines) + "\n")
    record = only_record(tmp_path)
    assert (record.codes, record.age, record.sex, record.length) == (("84114007",), 81, "F", 12_000)
    np.testing.assert_allclose(record.x_CL, make_ecg(12, 1000), atol=3e-4)


@pytest.mark.parametrize("name", ["x" * 5000, "\0"])
def test_a_table_may_name_what_no_file_can_be_called(cpsc, tmp_path, name):
    table = cpsc / "REFERENCE.csv"
    table.write_text(f"{table.read_text()}{name},1,,\n")
    assert prepare([cpsc], tmp_path / "out", jobs=1).kept == 1
    mimic, release = tmp_path / "mimic", tmp_path / "release"
    make_record(mimic, "inside")
    (mimic / "record_list.csv").write_text(f"subject_id,path\n1,{name}\n1,inside\n")
    assert len(find([mimic])) == 1
    make_record(release, "00001_hr")
    columns = "ecg_id,patient_id,scp_codes,strat_fold,filename_lr,filename_hr"
    (release / "ptbxl_database.csv").write_text(f"{columns}\n1,1,{{}},1,{'x' * 5000},00001_hr\n")
    assert len(find([release])) == 1


def test_mimic_records_have_patients_but_no_codes_and_their_swapped_leads_are_put_right(tmp_path):
    leads = list(LEADS)
    leads[4], leads[5] = "aVF", "aVL"
    x_CL = make_ecg()[[LEADS.index(lead) for lead in leads]]
    folder = tmp_path / "files" / "p1000" / "p10000032" / "s40689238"
    make_record(folder, "40689238", x_CL, leads=leads, comments=["<subject_id>: 10000032"])
    (tmp_path / "record_list.csv").write_text(
        "subject_id,study_id,file_name,ecg_time,path\n"
        "10000032,40689238,40689238,2180-07-23 08:44:00,files/p1000/p10000032/s40689238/40689238\n"
        "10000032,49036311,49036311,2180-07-23 09:54:00,files/p1000/p10000032/s49036311/49036311\n"
    )
    record = only_record(tmp_path)
    assert (record.source, record.patient, record.codes) == ("mimic-iv-ecg", "10000032", ())
    np.testing.assert_allclose(record.x_CL, make_ecg(), atol=6e-4)


def test_a_list_that_points_outside_is_quarantined_or_passed_over(tmp_path):
    make_record(tmp_path / "outside")
    root = tmp_path / "mimic"
    make_record(root, "inside")
    (root / "record_list.csv").write_text("subject_id,path\n1,../outside/A0001\n1,/etc/hostname\n1,inside\n")
    for candidate in find([root]):
        if candidate.file.name == "inside.hea":
            candidate.read()
        else:
            with pytest.raises(RecordError, match="outside the source folder"):
                candidate.read()
