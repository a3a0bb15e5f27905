"""Every record below a folder is found once and read by the right reader, whatever else lies there."""

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest
from tests.made_records import make_ecg, make_record

from ecg_records.errors import Reason, RecordError
from ecg_records.readers.arrays.array_layout import Layout
from ecg_records.readers.discovery import find, hash_sources
from ecg_records.record import Candidate
from marecg.corpus.prepare import prepare

PTBXL = "ecg_id,patient_id,scp_codes,strat_fold,filename_lr,filename_hr\n"


def sources(root: Path) -> dict[str, str]:
    """Source by path."""
    return {each.path: each.source for each in find([root])}


def test_odd_files_are_one_quarantined_record_each(tmp_path):
    """A name that is not UTF-8, a link to itself, a pipe, a number of 5,000 digits: beside a good record."""
    root = tmp_path / "in"
    header = make_record(root, "good")
    (root / os.fsdecode(b"M\xfcller.hea")).write_bytes(header.read_bytes())
    (root / "self.hea").symlink_to(root / "self.hea")
    os.mkfifo(root / "zz.hea")
    os.mkfifo(root / "a.npy")
    (root / "digits.hea").write_text(header.read_text().replace("5000", "5" * 5000, 1))
    report = prepare([root], tmp_path / "out", jobs=1, layout=Layout(500))
    assert (report.found, report.kept) == (6, 1)
    assert report.quarantined == {"header": 1, "path": 1, "unreadable": 3}
    assert "M\\xfcller.hea" in {each.path for each in report.records}


def test_pipes_in_the_place_of_tables_are_not_waited_for(tmp_path):
    make_record(tmp_path, "good")
    for name in ("exams.csv", "REFERENCE.csv", "record_list.csv", "ptbxl_database.csv", "scp_statements.csv"):
        os.mkfifo(tmp_path / name)
    assert list(sources(tmp_path)) == ["good.hea"]


def test_a_folder_that_looks_like_the_ptb_database_keeps_its_records_and_codes(tmp_path):
    for folder in ("patient001", "patient002", "patient1000", "patient003/visit1", "controls"):
        make_record(tmp_path / folder, "a", comments=["Dx: 164889003"])
    assert [each.read().codes for each in find([tmp_path])] == [("164889003",)] * 5


def test_the_ptb_database_with_codes_of_its_own_and_records_beside_it_loses_neither(tmp_path):
    comments = ["Reason for admission: Myocardial infarction", "Dx: 164889003"]
    make_record(tmp_path / "patient001", "s0010_re", comments=comments)
    make_record(tmp_path / "controls", "b", comments=["Dx: 426783006"])
    read = {each.source: each.read() for each in find([tmp_path])}
    assert read["ptbdb"].codes == ("164865005", "164889003")
    assert read["controls"].codes == ("426783006",)


def test_a_dataset_does_not_hide_the_records_below_it(tmp_path):
    make_record(tmp_path / "records500", "00001_hr")
    make_record(tmp_path / "records100", "00001_lr", fs=100)
    make_record(tmp_path / "records500", "00002_hr")
    make_record(tmp_path / "georgia", "E00001")
    row = "1,1,\"{'NORM': 100.0}\",1,records100/00001_lr,records500/00001_hr\n"
    (tmp_path / "ptbxl_database.csv").write_text(PTBXL + row)
    listed = {f"records500/0000{number}_hr.hea": "ptbxl" for number in (1, 2)}
    assert sources(tmp_path) == {"georgia/E00001.hea": "georgia"} | listed
    unlisted = next(each for each in find([tmp_path]) if "00002" in each.path)
    with pytest.raises(RecordError, match=r"not listed in ptbxl_database\.csv"):
        unlisted.read()


@pytest.mark.parametrize(
    ("table", "content"),
    [
        ("record_list.csv", "patient,when\n1,2020\n"),
        ("ptbxl_database.csv", "name,value\n1,2\n"),
        ("REFERENCE.csv", "A0001,N\n"),
        ("exams.csv", "student,mark\n"),
    ],
)
def test_a_table_that_only_has_a_datasets_name_refuses_nothing(tmp_path, table, content):
    (tmp_path / table).write_text(content)
    make_record(tmp_path / "georgia", "E00001")
    assert sources(tmp_path) == {"georgia/E00001.hea": "georgia"}


def test_a_header_in_capitals_is_found(tmp_path):
    header = make_record(tmp_path, "A0001")
    header.rename(header.with_suffix(".HEA"))
    [candidate] = find([tmp_path], layout=Layout(500))
    assert candidate.read().id == "A0001"


def test_two_folders_of_one_name_are_two_sources(tmp_path):
    for site in "AB":
        make_record(tmp_path / site / "data", "ecg")
    report = prepare([tmp_path / "A" / "data", tmp_path / "B" / "data"], tmp_path / "out", jobs=1)
    assert report.duplicates == (("A/data/ecg.hea", "B/data/ecg.hea"),)


def test_other_codes_or_gains_are_other_records_and_another_place_is_not(tmp_path):
    def sha256(folder, **change):
        make_record(tmp_path / folder / "in", "a", **change)
        return hash_sources(find([tmp_path / folder / "in"])).sha256

    first = sha256("one")
    assert sha256("two") == first
    assert sha256("three", comments=["Dx: 164889003"]) != first
    assert sha256("four", scale="500/mV") != first


class Stated(NamedTuple):
    """A code that somebody states, whatever the file says."""

    key: str

    def on(self, record):
        return record.coded((self.key,))


def test_codes_that_a_user_states_replace_those_of_the_file(tmp_path):
    make_record(tmp_path, "a", comments=["Dx: 164889003"])
    (candidate,) = find([tmp_path])
    assert candidate.read().codes == ("164889003",)
    assert replace(candidate, stated=Stated("426783006")).read().codes == ("426783006",)


def test_what_the_hash_of_records_covers(tmp_path):
    """Names, headers, and what tables say of records: PTB-XL's own, and one of the user's."""
    make_record(tmp_path / "here", "A0001")
    (record,), (again,) = find([tmp_path / "here"]), find([tmp_path / "here"])
    same = hash_sources([record])
    assert hash_sources([again]) == same
    others = [
        replace(record, key=("50.0", "{'NORM': 100.0}")),
        replace(record, key=("50.0", "{'AFIB': 100.0}")),
        replace(record, stated=Stated("164889003")),
        replace(record, stated=Stated("426783006")),
        replace(record, root_name="there"),
    ]
    assert len({same, *(hash_sources([other]) for other in others)}) == 6
    assert hash_sources([record, record]) != same
    make_record(tmp_path / "here", "A0001", comments=["Dx: 164889003"])
    assert hash_sources([record]) != same


def test_arrays_that_nobody_said_the_rate_of_are_passed_over_aloud(tmp_path, caplog):
    make_record(tmp_path, "a", make_ecg())
    (tmp_path / "a.mat").write_bytes(b"the signals of that header")
    for name in ("one.npz", "two.NPY"):
        (tmp_path / name).write_bytes(b"")
    assert [each.file.name for each in find([tmp_path])] == ["a.hea"]
    assert "skipped 2 array files, such as" in caplog.text
    caplog.clear()
    assert len(find([tmp_path], layout=Layout(500))) == 3
    assert not caplog.text


def test_whoever_reads_a_record_it_is_named_in_the_error_and_lies_in_its_folder(tmp_path):
    (tmp_path / "ward").mkdir()
    (tmp_path / "a.x").touch()
    (tmp_path / "ward" / "b.x").symlink_to(tmp_path / "a.x")
    refusing = Mock(**{"read.side_effect": RecordError(Reason.labels, "has labels that make no sense")})
    with pytest.raises(RecordError, match=r"a\.x: has labels that make no sense"):
        Candidate(tmp_path, tmp_path / "a.x", "ward", refusing).read()
    with pytest.raises(RecordError, match=r"ward/b\.x: is a link to a file outside"):
        Candidate(tmp_path / "ward", tmp_path / "ward" / "b.x", "ward", refusing).read()
