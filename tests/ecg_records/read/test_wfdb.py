"""Reading one record: units, lead names, and everything that must be refused."""

import os
from pathlib import Path

import numpy as np
import pytest
import wfdb
from tests.made_records import make_ecg, make_record

from ecg_records.errors import RecordError
from ecg_records.readers.wfdb import millivolts, read_record
from ecg_records.readers.wfdb_header import Channel
from ecg_records.record import age_in_years, inside, sex_letter
from ecg_records.signal.leads import LEADS
from ecg_records.stretch import Stretch


def reason(header: Path, root: Path | None = None) -> str:
    with pytest.raises(RecordError) as caught:
        _ = read_record(header, root or header.parent).x_CL
    assert str(header.name.split(".")[0]) in str(caught.value), "the message names the record"
    return caught.value.reason


def test_a_record_is_read_in_millivolts_with_its_codes_age_and_sex(tmp_path):
    record = read_record(make_record(tmp_path, x_CL=make_ecg()), tmp_path)
    assert record.x_CL.dtype == np.float32
    np.testing.assert_allclose(record.x_CL, make_ecg(), atol=6e-4)
    assert (record.id, record.fs, record.length) == ("A0001", 500, 5000)
    assert (record.codes, record.age, record.sex, record.notes) == (("426783006",), 63, "F", ())


@pytest.mark.parametrize(
    ("gain", "scale"), [(200, "200/mV"), (4880, "4880/mv"), (1000, "1/uV"), (1000, "1000(0)/mV")]
)
def test_the_gain_decides_the_amplitude(tmp_path, gain, scale):
    record = read_record(make_record(tmp_path, x_CL=make_ecg(), gain=gain, scale=scale), tmp_path)
    np.testing.assert_allclose(record.x_CL, make_ecg(), atol=0.6 / gain)


def test_leads_are_taken_by_name_whatever_their_order_and_case(tmp_path):
    order = np.random.default_rng(1).permutation(12)
    names = [LEADS[lead].upper() if lead % 2 else LEADS[lead].lower() for lead in order]
    header = make_record(tmp_path, x_CL=make_ecg()[order], leads=names)
    np.testing.assert_allclose(read_record(header, tmp_path).x_CL, make_ecg(), atol=6e-4)


def test_a_fifteen_lead_record_gives_its_twelve_standard_leads(tmp_path):
    x_CL = np.concatenate([make_ecg()[::-1] * 0.5, make_ecg()])[9:]
    header = make_record(tmp_path, x_CL=x_CL, leads=["vx", "vy", "vz", *LEADS])
    np.testing.assert_allclose(read_record(header, tmp_path).x_CL, make_ecg(), atol=6e-4)


def test_other_wfdb_formats_are_read_as_wfdb_reads_them(tmp_path):
    order = list(reversed(range(12)))
    for fmt in ("212", "24", "32"):
        wfdb.wrsamp(
            f"r{fmt}", fs=500, units=["mV"] * 12, sig_name=[LEADS[i] for i in order],
            p_signal=make_ecg()[order].T, fmt=[fmt] * 12, adc_gain=[400.0] * 12, baseline=[0] * 12,
            write_dir=str(tmp_path),
        )  # fmt: skip
        record = read_record(tmp_path / f"r{fmt}.hea", tmp_path)
        np.testing.assert_allclose(record.x_CL, make_ecg(), atol=2e-3)
        assert record.notes == ("no diagnosis",), "wfdb's own checksums hold"


def test_only_the_seconds_asked_for_are_read(tmp_path):
    record = read_record(make_record(tmp_path), tmp_path, Stretch(seconds=2.5))
    assert record.x_CL.shape == (12, 1250)
    assert record.length == 5000


def test_samples_that_the_format_marks_as_invalid_are_nan(tmp_path):
    x_CL = make_ecg()
    x_CL[3, 100:103] = np.nan
    missing = np.isnan(read_record(make_record(tmp_path, x_CL=x_CL), tmp_path).x_CL)
    np.testing.assert_array_equal(missing, np.isnan(x_CL))


def test_a_wrong_checksum_is_noted(tmp_path):
    header = make_record(tmp_path)
    header.write_text(header.read_text().replace(" 0 V6", "1 0 V6"))
    assert read_record(header, tmp_path).notes == ("checksum differs in V6",)


def test_reading_never_changes_the_files(tmp_path):
    header = make_record(tmp_path, record_line="A0001.mat 12 500 5000 05-May-2020 09:49:17")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    read_record(header, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_header_without_its_signal_file_is_refused(tmp_path):
    header = make_record(tmp_path)
    header.with_suffix(".mat").unlink()
    assert reason(header) == "no-signal-file"


@pytest.mark.parametrize("size", [0, 10, 24, 1000, 24 + 5000 * 24 - 1])
def test_a_truncated_signal_file_is_refused(tmp_path, size):
    header = make_record(tmp_path)
    os.truncate(header.with_suffix(".mat"), size)
    assert reason(header) == "truncated"


@pytest.mark.parametrize("file", ["../outside.mat", "/etc/hostname", "..", "below/../../outside.mat"])
def test_a_signal_path_that_leaves_the_folder_is_refused(tmp_path, file):
    make_record(tmp_path, "outside")
    header = make_record(tmp_path / "inside", file="x.mat")
    (tmp_path / "inside" / "below").mkdir()
    header.write_text(header.read_text().replace("x.mat", file))
    assert reason(header) == "path"


def test_a_link_that_leaves_the_source_is_refused(tmp_path):
    make_record(tmp_path / "outside")
    header = make_record(tmp_path / "inside")
    header.with_suffix(".mat").unlink()
    header.with_suffix(".mat").symlink_to(tmp_path / "outside" / "A0001.mat")
    assert reason(header) == "path"


def test_a_header_that_is_a_link_out_of_the_source_is_refused(tmp_path):
    header = make_record(tmp_path / "outside")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "A0001.hea").symlink_to(header)
    assert reason(tmp_path / "inside" / "A0001.hea") == "path"


def test_missing_and_duplicated_leads_are_refused(tmp_path):
    assert reason(make_record(tmp_path, "few", make_ecg()[:11], leads=LEADS[:11])) == "missing-lead"
    assert reason(make_record(tmp_path, "twice", make_ecg(), leads=[*LEADS[:11], "v5"])) == "duplicated-lead"
    assert reason(make_record(tmp_path, "other", make_ecg(), leads=[*LEADS[:11], "V7"])) == "missing-lead"


def test_a_length_that_no_disk_could_hold_a_compressed_format_and_what_is_no_header_are_refused(tmp_path):
    header = make_record(tmp_path, record_line="A0001 12 500 99999999999999")
    assert reason(header) == "truncated"
    header.write_text(header.read_text().replace(" 16+24 ", " 516 "))
    assert reason(header) == "format"
    (tmp_path / "folder.hea").mkdir()
    (tmp_path / "binary.hea").write_bytes(b"\0\1\2")
    assert reason(tmp_path / "folder.hea") == reason(tmp_path / "binary.hea") == "unreadable"


def test_ages_and_sexes_are_read_in_every_spelling():
    assert [age_in_years(text) for text in ("63", "0.5")] == [63, 0.5]
    assert {age_in_years(text) for text in ("NaN", "", None, "-1", "Unknown", "300")} == {None}
    assert [sex_letter(text) for text in ("M", "Male", "female", "F")] == ["M", "M", "F", "F"]
    assert {sex_letter(text) for text in ("", None, "Unknown")} == {None}


@pytest.mark.parametrize("gain", [1000.0, 200.0, 204.8, 1e-3, 3276700.0, 1 / 3])
@pytest.mark.parametrize("baseline", [0, -7, 1 << 22, (1 << 24) + 1])
def test_every_number_of_a_converter_becomes_the_float32_nearest_to_its_millivolts(gain, baseline):
    d_1L = np.arange(-(1 << 15), 1 << 15, dtype=np.int16)[None]
    channel = Channel("I", "a.mat", 16, 24, gain, baseline, None)
    found = millivolts(d_1L, [channel])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, ((d_1L - np.float64(baseline)) / gain).astype(np.float32))


def test_a_file_is_inside_a_folder_wherever_links_lead(tmp_path):
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "record.hea").touch()
    (tmp_path / "outside.hea").touch()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "a")
    (tmp_path / "door").symlink_to(root)
    for name in ("a/record.hea", "in/record.hea", "out/root/a/record.hea", "a/none.hea", "a/../a/record.hea"):
        assert inside(root / name, root)
        assert inside(tmp_path / "door" / name, root)
        assert inside(root / name, tmp_path / "door")
    for name in ("out/outside.hea", "../outside.hea", "a/../../outside.hea", "out", "../root2"):
        assert not inside(root / name, root)
    assert not inside(root / "a" / "nul\0.hea", root)
