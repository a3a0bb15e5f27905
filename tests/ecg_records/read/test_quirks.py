"""Every quirk of real corpora can be had, and is what it says."""

import json
from pathlib import Path

import numpy as np
import pytest
import wfdb

from ecg_records.errors import RecordError
from ecg_records.readers.wfdb import read_record
from ecg_synth import QUIRKS, write_corpus


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("quirks") / "corpus"
    write_corpus(out, 1, 0, quirks=tuple(QUIRKS))
    return out


def header(folder: Path, quirk: str) -> Path:
    return folder / f"Q_{quirk.replace('-', '_')}.hea"


@pytest.mark.parametrize("quirk", [name for name, quirk in QUIRKS.items() if quirk.readable])
def test_a_readable_quirk_still_gives_its_twelve_leads_in_millivolts(quirk, folder):
    record = read_record(header(folder, quirk), folder)
    truth = json.loads((folder / f"Q_{quirk.replace('-', '_')}.truth.json").read_text())

    assert record.x_CL.shape == (12, truth["samples"])
    assert record.fs == truth["fs"]
    beyond = {"artefact": 15.0, "clipped": 0.3, "all-zero": 0.0}.get(quirk)
    largest = float(np.nanmax(np.abs(record.x_CL))) if np.isfinite(record.x_CL).any() else 0.0
    assert largest == pytest.approx(beyond) if beyond is not None else largest < 8


@pytest.mark.parametrize("quirk", [name for name, quirk in QUIRKS.items() if not quirk.readable])
def test_an_unreadable_quirk_is_refused_with_a_reason(quirk, folder):
    with pytest.raises(RecordError) as refused:
        _ = read_record(header(folder, quirk), folder).x_CL
    assert refused.value.reason


def test_wfdb_itself_refuses_georgias_record_line(folder):
    with pytest.raises(Exception, match=r".+"):
        wfdb.rdrecord(str(folder / "Q_georgia_date"))
    line = header(folder, "georgia-date").read_text().splitlines()[0]
    assert line == "Q_georgia_date.mat 12 500 5000 05-May-2020 09:49:17"


@pytest.mark.parametrize(
    ("quirk", "line"),
    [
        ("blank-dx", "#Dx: "),
        ("empty-code", "#Dx: 427084000,,427172004"),
        ("unknown-code", "#Dx: 426783006,251238007"),
        ("text-labels", "#Dx: STE,RBBB"),
        ("spaced-comments", "# Dx: 426783006"),
        ("nan-age", "#Age: NaN"),
        ("letter-sex", "#Sex: F"),
    ],
)
def test_the_headers_comment_is_the_one_found_in_the_wild(quirk, line, folder):
    assert line in header(folder, quirk).read_text().split("\n")


def test_lines_end_in_cr_lf_and_lead_names_change_their_case_where_that_was_asked(folder):
    text = header(folder, "crlf").read_bytes()
    assert text.count(b"\r\n") == text.count(b"\n") > 12
    assert header(folder, "lower-leads").read_text().count(" avr\n") == 1
    assert header(folder, "upper-leads").read_text().count(" AVR\n") == 1


def test_a_permuted_record_has_the_same_leads_in_another_order(folder):
    record = wfdb.rdrecord(str(folder / "Q_permuted_leads"))
    i, ii, iii = (record.p_signal[:, record.sig_name.index(lead)] for lead in ("I", "II", "III"))
    assert record.sig_name[0] == "V1"
    assert np.allclose(i + iii, ii, atol=1e-9)


def test_a_ptb_record_has_fifteen_leads_at_1000_hz(folder):
    record = wfdb.rdrecord(str(folder / "Q_ptb_15_leads"))
    assert (record.fs, record.n_sig, record.sig_len) == (1000, 15, 38400)
    assert record.sig_name[12:] == ["vx", "vy", "vz"]


def test_a_clipped_record_rests_at_both_of_its_ends_and_swings_between(folder):
    x_CL = read_record(header(folder, "clipped"), folder).x_CL
    assert (x_CL.min(), x_CL.max()) == (pytest.approx(-0.3), pytest.approx(0.3))
    assert (np.abs(x_CL) < 0.2).mean() > 0.5


def test_a_duplicate_is_bit_identical_under_its_second_name(folder):
    twin = folder / "Q_duplicate_twin.mat"
    assert twin.read_bytes() == (folder / "Q_duplicate.mat").read_bytes()
    assert (folder / "Q_duplicate_twin.hea").read_text().startswith("Q_duplicate_twin 12 500 5000\n")


def test_the_truth_names_the_quirk_and_good_records_are_untouched(folder, tmp_path):
    write_corpus(tmp_path / "plain", 1, 0)
    for name in ("S00001.hea", "S00001.mat", "S00001.truth.json"):
        assert (tmp_path / "plain" / name).read_bytes() == (folder / name).read_bytes()
    assert json.loads((folder / "S00001.truth.json").read_text())["quirk"] is None
    assert json.loads((folder / "Q_crlf.truth.json").read_text())["quirk"] == "crlf"
