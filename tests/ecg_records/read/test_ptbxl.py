"""PTB-XL in its official layout."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.signal import resample_poly
from tests.made_records import make_ecg, make_record

from ecg_records.errors import CorpusError
from ecg_records.readers.datasets import ptbxl
from ecg_records.readers.discovery import find
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import resample
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus

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
        leads = [lead.upper() for lead in LEADS]
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
    for files in (",../elsewhere/00007_hr", ",/etc/hostname", "../elsewhere/x,records500/x"):
        (root / "ptbxl_database.csv").write_text(f"{HEAD}7,1.0,50.0,1,,{{}},3,{files}\n")
        with pytest.raises(CorpusError, match="outside the release"):
            ptbxl.entries(root)


def test_a_corpus_can_leave_out_the_folds_that_it_is_probed_on(root):
    assert [candidate.fold for candidate in find([root])] == [10, 9]
    assert [candidate.fold for candidate in find([root], folds=range(1, 10))] == [9]


@pytest.fixture
def slow(root) -> Path:
    """The same release with the 100 Hz copies of ECGs 7 and 99."""
    text = (root / "ptbxl_database.csv").read_text()
    leads = [lead.upper() for lead in LEADS]
    for name in ("00007", "00099"):
        fast = f"records500/00000/{name}_hr"
        text = text.replace(f",,{fast}", f",records100/00000/{name}_lr,{fast}")
        x_CL = make_ecg(fs=100)
        make_record(root / "records100" / "00000", f"{name}_lr", x_CL, fs=100, leads=leads, comments=[])
    (root / "ptbxl_database.csv").write_text(text)
    return root


def test_the_100_hz_copy_is_read_where_the_other_is_absent_or_where_it_is_preferred(slow):
    assert [each.file.stem for each in find([slow])] == ["00099_lr", "00007_hr", "00034_hr"]
    assert [each.file.stem for each in find([slow], ptbxl_rate=100)] == ["00007_lr", "00099_lr", "00034_hr"]
    assert [entry.ecg_id for entry in ptbxl.entries(slow)] == [7, 34, 99]


def test_a_corpus_says_which_copy_it_was_made_of(slow, tmp_path):
    prepare([slow], tmp_path / "out", CorpusConfig(ptbxl_rate=100), jobs=1)
    rows = pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()
    expected = [("00007", 100, 4700), ("00099", 100, 4700), ("00034", 500, 4700)]
    assert [(row["id"], row["fs"], row["n_valid"]) for row in rows] == expected
    assert rows[0]["notes"] == ["recorded at 500 Hz, read at 100 Hz"]
    assert Corpus.open(tmp_path / "out").config.ptbxl_rate == 100


@pytest.mark.realdata
def test_real_records_at_100_hz_give_nearly_the_signal_that_they_have_at_500_hz(realdata):
    """The publishers downsampled theirs; an anti-aliased 100 Hz copy of the real records stands in for it."""
    rms = []
    for entry in ptbxl.entries(realdata / "ptbxl")[:20]:
        x_CL = ptbxl.read(realdata / "ptbxl", entry).x_CL
        slow_CL = resample_poly(x_CL, 1, 5, axis=1, padtype="line").astype(np.float32)
        rms.append(np.sqrt(np.square(resample(slow_CL, 100) - x_CL).mean() / np.square(x_CL).mean()))
    assert np.median(rms) < 0.1
    assert max(rms) < 0.25
