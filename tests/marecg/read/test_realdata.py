"""Every real record is read, or quarantined for a true reason."""

import pytest

from marecg.corpus import index
from marecg.corpus.account import Account
from marecg.corpus.prepare import prepare
from marecg.ecg.quality import BRIDGED
from marecg.read.datasets import ptbxl
from marecg.read.discovery import find
from marecg_corpora.statistics import statistics

pytestmark = pytest.mark.realdata


def test_every_challenge_record_is_kept_but_those_with_flat_leads_or_artefacts(realdata, tmp_path):
    report = prepare([realdata / "cinc2021"], tmp_path / "corpus", jobs=1)
    assert (report.found, report.kept) == (236, 231)
    assert report.quarantined == {"extreme-amplitude": 1, "flat-lead": 4}
    rows = index.of(tmp_path / "corpus", ["id", "notes"]).to_pylist()
    bridged = {row["id"] for row in rows if any(note.endswith(BRIDGED) for note in row["notes"])}
    assert bridged == {"A0061", "JS20011", "HR00599"}, "an electrode moved for less than a second"
    assert report.sources["georgia"] == Account(found=47, kept=47, quarantined={}), "the originals are read"
    assert report.sources["ptb"].kept == 7
    notes = statistics(tmp_path / "corpus").notes
    assert set(notes) == {"code … given twice", "label … read as …", "… of extreme amplitude bridged"}, (
        "limb leads agree"
    )


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
