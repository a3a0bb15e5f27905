"""PTB-XL in its official layout."""

from collections.abc import Callable
from pathlib import Path

import pytest

from marecg.data.datasets import ptbxl
from marecg.data.discovery import find
from marecg.errors import CorpusError

HEAD = "ecg_id,patient_id,age,sex,report,scp_codes,strat_fold,filename_lr,filename_hr\n"


@pytest.fixture
def root(tmp_path: Path, write_record: Callable[..., Path]) -> Path:
    """Three entries of which two are on disk."""
    folder = tmp_path / "ptb-xl-1.0.3"
    rows = [
        """34,13619.0,56.0,0,"ein ""Befund"", mit Komma",{'AFLT': 100.0},9,,records500/00000/00034_hr""",
        """7,13619.0,300.0,1,,"{'NORM': 100.0, 'SR': 0.0}",10,,records500/00000/00007_hr""",
        """99,,,1,,{},1,,records500/00000/00099_hr""",
    ]
    for name in ("00034_hr", "00007_hr"):
        leads = ("I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
        write_record(folder / "records500" / "00000", name, leads=leads, comments=[])
    (folder / "ptbxl_database.csv").write_text(HEAD + "\n".join(rows) + "\n")
    (folder / "scp_statements.csv").write_text(
        ",description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass\n"
        "IMI,inferior myocardial infarction,1.0,,,MI,IMI\nSR,sinus rhythm,,,1.0,,\n"
    )
    return folder


def test_entries_are_those_on_disk_in_the_order_of_their_ids(root: Path) -> None:
    assert [entry.ecg_id for entry in ptbxl.entries(root)] == [7, 34]


def test_an_entry_carries_patient_age_sex_fold_and_likelihoods(root: Path) -> None:
    young, old = ptbxl.entries(root)[1], ptbxl.entries(root)[0]
    assert (young.patient, young.age, young.sex, young.fold) == ("13619", 56, "M", 9)
    assert young.scp == {"AFLT": 100}
    assert (old.age, old.sex) == (90, "F"), "ages above 89 are published as 300"


def test_records_have_scp_curies_as_codes(root: Path) -> None:
    record = next(ptbxl.records(root))
    assert (record.id, record.source, record.codes) == ("00007", "ptbxl", ("scp:NORM", "scp:SR"))
    assert record.x_CL.shape == (12, 5000)


def test_statements_know_their_class(root: Path) -> None:
    statements = ptbxl.statements(root)
    assert (statements["IMI"].superclass, statements["IMI"].diagnostic) == ("MI", True)
    assert (statements["SR"].superclass, statements["SR"].rhythm) == (None, True)


def test_a_database_that_is_none_is_one_clear_error(root: Path) -> None:
    for text in ("", "a,b\n1,2\n", HEAD + "x,1,1,1,,{},1,a,b\n", HEAD + "1,1,1,1,,__import__('os'),1,a,b\n"):
        (root / "ptbxl_database.csv").write_text(text)
        with pytest.raises(CorpusError, match=r"ptbxl_database\.csv"):
            ptbxl.entries(root)


def test_a_database_that_points_outside_the_release_is_refused(root: Path) -> None:
    for file in ("../elsewhere/00007_hr", "/etc/hostname"):
        (root / "ptbxl_database.csv").write_text(f"{HEAD}7,1.0,50.0,1,,{{}},3,,{file}\n")
        with pytest.raises(CorpusError, match="outside the release"):
            ptbxl.entries(root)


def test_a_corpus_can_leave_out_the_folds_that_it_is_probed_on(root: Path) -> None:
    assert [candidate.fold for candidate in find([root])] == [10, 9]
    assert [candidate.fold for candidate in find([root], folds=range(1, 10))] == [9]
