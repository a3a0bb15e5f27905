"""PTB-XL in its official layout."""

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import wfdb
from scipy.signal import resample_poly
from tests.marecg.made_records import make_ecg, make_record

from marecg.base.config import LEADS, CorpusConfig
from marecg.base.errors import CorpusError
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.read.datasets import ptbxl
from marecg.read.discovery import find

HEAD = "ecg_id,patient_id,age,sex,report,scp_codes,strat_fold,filename_lr,filename_hr\n"


@pytest.fixture
def root(tmp_path) -> Path:
    """Three entries of which two are on disk."""
    folder = tmp_path / "ptb-xl-1.0.3"
    rows = [
        """34,13619.0,56.0,0,"ein ""Befund"", mit Komma",{'AFLT': 100.0},9,,records500/00000/00034_hr""",
        """7,13619.0,300.0,1,,"{'NORM': 100.0, 'SR': 0.0}",10,,records500/00000/00007_hr""",
        """99,,,1,,{},1,,records500/00000/00099_hr""",
    ]
    for name in ("00034_hr", "00007_hr"):
        leads = ("I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
        make_record(folder / "records500" / "00000", name, leads=leads, comments=[])
    (folder / "ptbxl_database.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (folder / "scp_statements.csv").write_text(
        ",description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass\n"
        "IMI,inferior myocardial infarction,1.0,,,MI,IMI\nSR,sinus rhythm,,,1.0,,\n"
    )
    return folder


def test_entries_are_those_on_disk_by_their_ids_with_patient_age_sex_fold_and_likelihoods(root):
    old, young = ptbxl.entries(root)
    assert (old.ecg_id, young.ecg_id) == (7, 34)
    assert (young.patient, young.age, young.sex, young.fold) == ("13619", 56, "M", 9)
    assert young.scp == {"AFLT": 100}
    assert (old.age, old.sex) == (90, "F"), "ages above 89 are published as 300"
    record = ptbxl.read(root, old)
    assert (record.id, record.source, record.codes) == ("00007", "ptbxl", ("scp:NORM", "scp:SR"))
    assert record.x_CL.shape == (12, 5000)


def test_statements_know_their_class(root):
    statements = ptbxl.statements(root)
    assert (statements["IMI"].superclass, statements["IMI"].diagnostic) == ("MI", True)
    assert (statements["SR"].superclass, statements["SR"].rhythm) == (None, True)


def test_a_database_that_is_none_is_one_clear_error(root):
    rows = (
        "x,1,1,1,,{},1,a,b",
        "1,1,1,1,,__import__('os'),1,a,b",
        "1,1e999,1,1,,{},1,a,b",
        "1,1,1,1,,[[[,1,a,b",
    )
    for text in ("", "a,b\n1,2\n", *(f"{HEAD}{row}\n" for row in rows)):
        (root / "ptbxl_database.csv").write_text(text)
        with pytest.raises(CorpusError, match=r"ptbxl_database\.csv"):
            ptbxl.entries(root)


def test_a_database_that_points_outside_the_release_is_refused(root):
    for file in ("../elsewhere/00007_hr", "/etc/hostname"):
        (root / "ptbxl_database.csv").write_text(f"{HEAD}7,1.0,50.0,1,,{{}},3,,{file}\n")
        with pytest.raises(CorpusError, match="outside the release"):
            ptbxl.entries(root)


def test_a_corpus_can_leave_out_the_folds_that_it_is_probed_on(root):
    assert [candidate.fold for candidate in find([root])] == [10, 9]
    assert [candidate.fold for candidate in find([root], folds=range(1, 10))] == [9]


@pytest.fixture
def slow(root) -> Path:
    """The same release with the 100 Hz copies of ECGs 7 and 99."""
    text = (root / "ptbxl_database.csv").read_text()
    for name in ("00007", "00099"):
        text = text.replace(
            f",,records500/00000/{name}_hr", f",records100/00000/{name}_lr,records500/00000/{name}_hr"
        )
        leads = [lead.upper() for lead in LEADS]
        make_record(
            root / "records100" / "00000", f"{name}_lr", make_ecg(fs=100), fs=100, leads=leads, comments=[]
        )
    (root / "ptbxl_database.csv").write_text(text)
    return root


def test_the_100_hz_copy_is_read_where_the_other_is_absent_or_where_it_is_preferred(slow):
    assert [Path(each.path).name for each in find([slow])] == ["00099_lr.hea", "00007_hr.hea", "00034_hr.hea"]
    preferred = [Path(each.path).name for each in find([slow], ptbxl_rate=100)]
    assert preferred == ["00007_lr.hea", "00099_lr.hea", "00034_hr.hea"]
    assert [entry.ecg_id for entry in ptbxl.entries(slow)] == [7, 34, 99]


def test_a_corpus_says_which_copy_it_was_made_of(slow, tmp_path):
    prepare([slow], tmp_path / "out", CorpusConfig(ptbxl_rate=100), jobs=1)
    rows = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()
    assert [(row["id"], row["fs"], row["n_valid"]) for row in rows] == [
        ("00007", 100, 4700),
        ("00099", 100, 4700),
        ("00034", 500, 4700),
    ]
    assert rows[0]["notes"] == ["recorded at 500 Hz, read at 100 Hz"]
    assert Corpus.open(tmp_path / "out").config.ptbxl_rate == 100


def test_a_database_whose_100_hz_copy_lies_outside_is_refused(root):
    (root / "ptbxl_database.csv").write_text(f"{HEAD}7,1.0,50.0,1,,{{}},3,../elsewhere/x,records500/x\n")
    with pytest.raises(CorpusError, match="outside the release"):
        ptbxl.entries(root)


@pytest.mark.realdata
def test_real_records_at_100_hz_give_nearly_the_signal_that_they_have_at_500_hz(realdata, tmp_path):
    """The publishers downsampled theirs; an anti-aliased 100 Hz copy of the real records stands in for it."""
    root = tmp_path / "ptbxl"
    chosen = ptbxl.entries(realdata / "ptbxl")[:20]
    with (realdata / "ptbxl" / "ptbxl_database.csv").open(newline="", encoding="utf-8") as file:
        rows = {int(row["ecg_id"]): row for row in csv.DictReader(file)}
    for entry in chosen:
        fast = realdata / "ptbxl" / entry.file
        for name, rate in ((entry.file, 500), (rows[entry.ecg_id]["filename_lr"], 100)):
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            signal = wfdb.rdrecord(str(fast)).p_signal
            wfdb.wrsamp(
                path.name, fs=rate, units=["mV"] * 12, sig_name=list(LEADS), fmt=["16"] * 12,
                p_signal=signal if rate == 500 else resample_poly(signal, 1, 5, axis=0, padtype="line"),
                adc_gain=[1000.0] * 12, baseline=[0] * 12, write_dir=str(path.parent),
            )  # fmt: skip
    with (root / "ptbxl_database.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[chosen[0].ecg_id])
        table.writeheader()
        table.writerows(rows[entry.ecg_id] for entry in chosen)
    for rate in (500, 100):
        prepare([root], tmp_path / str(rate), CorpusConfig(ptbxl_rate=rate), jobs=1)
    fast, slow = (Corpus.open(tmp_path / str(rate)) for rate in (500, 100))
    assert fast.ids == slow.ids
    everything = np.arange(len(fast))
    x_BCL, y_BCL = fast.signals(everything), slow.signals(everything)
    rms = np.sqrt(np.mean(np.square(x_BCL - y_BCL), axis=(1, 2)) / np.mean(np.square(x_BCL), axis=(1, 2)))
    assert len(fast) >= 19
    assert np.median(rms) < 0.1
    assert rms.max() < 0.25
