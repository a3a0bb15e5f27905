"""Every real record is read, or quarantined for a true reason."""

import pytest

from ecg_records.notes import Note, NoteKind
from ecg_records.readers.datasets import ptbxl
from ecg_records.readers.discovery import find
from marecg.corpus import index
from marecg.corpus.account import Account
from marecg.corpus.prepare import prepare
from marecg.corpus.statistics import statistics

pytestmark = pytest.mark.realdata


def test_every_challenge_record_is_kept_but_those_without_chest_leads(realdata, tmp_path):
    report = prepare([realdata / "cinc2021"], tmp_path / "corpus", jobs=1)
    assert (report.found, report.kept) == (236, 234)
    assert {(record.path, record.reason) for record in report.records} == {
        ("ningbo/JS11438.hea", "flat-lead"),
        ("ningbo/JS45544.hea", "flat-lead"),
    }
    rows = index.of(tmp_path / "corpus", ["id", "hidden", "notes"]).to_pylist()
    bridged = {row["id"] for row in rows if any(Note(note).kind == NoteKind.bridged for note in row["notes"])}
    assert bridged == {"A0061", "JS20011", "HR00599"}, "an electrode moved for less than a second"
    alternate, swinging = ["V2", "V4", "V6"], ["V4", "V5"]
    hidden = {"JS20004": alternate, "JS20008": alternate, "HR20715": swinging}
    assert {row["id"]: row["hidden"] for row in rows if row["hidden"]} == hidden
    assert report.sources["georgia"] == Account(found=47, kept=47, quarantined={}), "the originals are read"
    assert report.sources["ptb"].kept == 7
    notes = statistics(tmp_path / "corpus").notes
    mended = {f"…: {why}: hidden" for why in ("flat within 0.01 mV", "beyond 10 mV around its median")}
    usual = {"code … given twice", "label … read as …", "… of extreme amplitude bridged"}
    assert set(notes) == usual | mended, "limb leads agree"


def test_every_challenge_header_has_codes_of_the_official_kind(realdata):
    for candidate in find([realdata / "cinc2021"]):
        record = candidate.read(seconds=0.1)
        assert record.codes, candidate.path
        assert not any("malformed" in note for note in record.notes)


def test_every_ptbxl_record_is_read(realdata):
    records = [ptbxl.read(realdata / "ptbxl", entry) for entry in ptbxl.entries(realdata / "ptbxl")]
    assert len(records) == 912
    assert all(record.x_CL.shape == (12, 5000) and not record.notes for record in records)
    statements = ptbxl.statements(realdata / "ptbxl")
    assert {code.removeprefix("scp:") for record in records for code in record.codes} <= statements.keys()
