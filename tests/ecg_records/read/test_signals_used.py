"""Only the leads that are used matter, whatever they are called; what isn't used is named."""

import re

import numpy as np
import pytest
import wfdb
from hypothesis import given
from hypothesis import strategies as st
from tests.made_records import make_ecg, make_record

from ecg_records import read
from ecg_records.errors import RecordError
from ecg_records.notes import NoteKind
from ecg_records.signal.leads import LEADS, is_lead, lead_name, read_label

FORMATS = ("16", "24", "32", "61", "80", "160", "212")


def by_wfdb(folder, name, x_CL, fmt, names=LEADS, gain=400.0, **more):
    """Write a record by wfdb itself; formats that it can't write, by a script's own bytes."""
    if fmt in ("16", "24", "32", "80", "212"):
        wfdb.wrsamp(
            name, fs=500, units=["mV"] * len(names), sig_name=list(names), p_signal=x_CL.T,
            fmt=[fmt] * len(names), adc_gain=[gain] * len(names), baseline=[0] * len(names),
            write_dir=str(folder), **more,
        )  # fmt: skip
    else:
        by_wfdb(folder, name, x_CL, "16", names, gain, **more)
        d_n = np.fromfile(folder / f"{name}.dat", "<i2")
        kind, shift = {"61": (">i2", 0), "160": ("<u2", 32768)}[fmt]
        (d_n.astype(np.int32) + shift).astype(kind).tofile(folder / f"{name}.dat")
        header = folder / f"{name}.hea"
        header.write_text(header.read_text().replace(".dat 16 ", f".dat {fmt} "))
    return folder / f"{name}.hea"


@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_is_read_as_wfdb_reads_it_with_and_without_its_length(tmp_path, fmt, length):
    gain = 60.0 if fmt == "80" else 400.0
    header = by_wfdb(tmp_path, "r", make_ecg(seconds=3.002)[:5], fmt, LEADS[:5], gain)
    expected = wfdb.rdrecord(str(header.with_suffix(""))).p_signal.T
    lines = header.read_text().split("\n")
    if not length:
        lines[0] = " ".join(lines[0].split()[:3])
        header.write_text("\n".join(lines))
    record = read(header)
    assert record.length == 1501
    np.testing.assert_allclose(record.x_KL, expected, atol=1e-6)
    assert record.notes == ("no diagnosis",), "the checksums hold"
    assert_parts_agree(header, record.x_KL)


def assert_parts_agree(header, x_KL):
    """Pieces that begin at odd samples are those of the whole."""
    from ecg_records.readers.wfdb import read_record
    from ecg_records.stretch import Stretch

    for start, seconds in ((0.002, 0.5), (0.502, 0.1), (0, 3.002)):
        part = read_record(header, header.parent, Stretch(start, seconds)).x_KL
        first = round(start * 500)
        np.testing.assert_array_equal(part, x_KL[:, first : first + part.shape[1]])


@pytest.mark.parametrize("length", ["", " 5000"])
def test_a_file_per_lead_is_read_with_and_without_its_length(tmp_path, length):
    x_CL = make_ecg()
    header = make_record(tmp_path, x_CL=x_CL)
    lines = header.read_text().split("\n")
    for row, lead in enumerate(LEADS):
        np.rint(x_CL[row] * 1000).astype("<i2").tofile(tmp_path / f"{lead}.dat")
        lines[row + 1] = lines[row + 1].replace("A0001.mat 16+24", f"{lead}.dat 16")
    lines[0] = f"A0001 12 500{length}"
    header.write_text("\n".join(lines))
    np.testing.assert_allclose(read(header).x_KL, x_CL, atol=6e-4)


@pytest.mark.parametrize("name", ["records500/00000/A0001", "a/b", "../A0001", "folder/00001"])
def test_a_folder_in_the_record_s_name_says_nothing(tmp_path, name):
    header = make_record(tmp_path, record_line=f"{name} 12 500 5000")
    assert read(header).length == 5000


def test_a_header_of_segments_is_still_refused(tmp_path):
    (tmp_path / "m.hea").write_text("m/2 12 500 10000\na 5000\nb 5000\n")
    with pytest.raises(RecordError, match="must have a single segment"):
        read(tmp_path / "m.hea")


@pytest.mark.parametrize(
    "field", ["16 1000/pm", "16 0/mV", "16", "16:5 1000/NU", "16x2 1000/mmHg", "16x4:3 1000/pm"]
)
@pytest.mark.parametrize("place", [0, 5, 12])
def test_a_further_signal_in_another_unit_gain_rate_or_time_is_passed_over_and_named(tmp_path, field, place):
    x_CL = make_ecg()
    header = make_record(tmp_path, x_CL=x_CL)
    lines = header.read_text().split("\n")
    frame = int(field.partition("x")[2][:1] or 1)
    further = np.full((5000, frame), 1234, "<i2")
    d_LC = np.rint(x_CL.T * 1000).astype("<i2")
    framed = np.concatenate([d_LC[:, :place], further, d_LC[:, place:]], axis=1)
    (tmp_path / "A0001.mat").write_bytes(bytes(24) + framed.tobytes())
    fmt, _, rest = field.partition(" ")
    signal = (
        f"A0001.mat {fmt}+24 {rest} 16 0 1234 0 0 RESP" if rest else f"A0001.mat {fmt}+24 - 16 0 0 0 0 RESP"
    )
    lines[0] = "A0001 13 500 5000"
    lines.insert(1 + place, signal)
    header.write_text("\n".join(lines))
    record = read(header)
    np.testing.assert_allclose(record.x_CL, x_CL, atol=6e-4)
    [note] = [note for note in record.notes if note.kind == NoteKind.unused]
    assert note == "not used: RESP"


PREFIXES = ("", "ECG ", "EKG ", "Lead ", "lead_", "MDC_ECG_LEAD_", "ECG-", "Lead: ")
SUFFIXES = ("", "-Ref", " (uV)", "(mV)", " [mV]", " (Einthoven)", "-REF")


@given(
    st.sampled_from(LEADS),
    st.sampled_from(PREFIXES),
    st.sampled_from(SUFFIXES),
    st.sampled_from((str.upper, str.lower, str)),
    st.sampled_from(("", "D")),
    st.sampled_from(("", "-", "−")),
)
def test_a_lead_is_known_however_files_spell_it(lead, prefix, suffix, case, letter, minus):
    letter = letter if lead in LEADS[:3] else ""
    text = f"{minus}{prefix}{letter}{case(lead)}{suffix}"
    label = read_label(text)
    assert label is not None, text
    assert (label.lead, label.negative) == (lead, bool(minus))
    assert lead_name(text) == ("-" if minus else "") + lead


@pytest.mark.parametrize(
    "text",
    ["RESP", "vx", "V7", "C3", "C4-A1", "EEG Fp1", "MLII", "", "1", "IV", "V", "aV", "V1V2", "I-II", "ABP"],
)
def test_other_signals_are_no_leads(text):
    assert not is_lead(text)


@pytest.mark.parametrize(
    "spelt",
    [
        {"I": "DI", "II": "DII", "III": "DIII"},
        {lead: f"ECG {lead}" for lead in LEADS},
        {lead: f"{lead}-Ref" for lead in LEADS},
        {"aVR": "-aVR"},
    ],
)
@pytest.mark.parametrize("ending", ["hea", "csv", "parquet", "edf"])
def test_the_same_names_are_read_in_every_format(tmp_path, x_CL, spelt, ending):
    from tests.ecg_records import clinical_files

    names = [spelt.get(lead, lead) for lead in LEADS]
    stored = np.array([-1 if name.startswith("-") else 1 for name in names])[:, None] * x_CL
    path = tmp_path / f"r.{ending}"
    layout = None
    if ending == "hea":
        path = make_record(tmp_path, "r", stored, leads=names)
    elif ending == "edf":
        pytest.importorskip("edfio")
        clinical_files.edf(path, stored, leads=names, prefix="")
    else:
        import pandas as pd

        from ecg_records.readers.arrays.array_layout import Layout

        layout = Layout(500)
        table = pd.DataFrame(stored.T, columns=names)
        table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path, index=False)
    from ecg_records.readers.inputs import find_one

    record = find_one(path, layout).read()
    assert record.leads == LEADS
    np.testing.assert_allclose(record.x_CL, x_CL, atol=1e-3)
    assert not [note for note in record.notes if str(note).startswith("not used")]


@pytest.mark.parametrize("wrong", [["V6"], ["I", "V1"], list(LEADS)])
@pytest.mark.parametrize("seconds", [None, 2.0, 9.9])
def test_checksums_are_those_of_the_whole_file_whatever_is_read(tmp_path, wrong, seconds):
    header = make_record(tmp_path, x_CL=limbs_agree())
    text = header.read_text()
    for lead in wrong:
        text = text.replace(f" 0 {lead}\n", f"1 0 {lead}\n")
    header.write_text(text)
    [note] = read(header, seconds=seconds).notes
    assert (note.kind, note.leads) == (NoteKind.checksum, tuple(wrong))
    assert note == f"checksum differs in {', '.join(wrong)}"


def limbs_agree() -> np.ndarray:
    x_CL = np.rint(make_ecg() * 500) / 500
    i, ii = x_CL[:2]
    x_CL[2:6] = ii - i, -(i + ii) / 2, i - ii / 2, ii - i / 2
    return x_CL


def test_checksums_of_zero_throughout_are_none(tmp_path):
    header = make_record(tmp_path)
    header.write_text(re.sub(r"-?\d+ 0 (\S+)$", r"0 0 \1", header.read_text(), flags=re.M))
    assert read(header).notes == ()


@pytest.mark.parametrize("damage", ["shifted by a sample", "bytes swapped", "of another record"])
@pytest.mark.parametrize("seconds", [None, 2.0])
def test_a_header_that_describes_other_samples_is_refused(tmp_path, damage, seconds):
    header = make_record(tmp_path, x_CL=limbs_agree())
    content = (tmp_path / "A0001.mat").read_bytes()
    d_n = np.frombuffer(content[24:], "<i2")
    other = {
        "shifted by a sample": np.roll(d_n, 1),
        "bytes swapped": d_n.byteswap(),
        "of another record": np.random.default_rng(3).integers(-900, 900, len(d_n)).astype("<i2"),
    }[damage]
    (tmp_path / "A0001.mat").write_bytes(content[:24] + other.tobytes())
    with pytest.raises(RecordError, match="all checksums differ") as refused:
        read(header, seconds=seconds)
    assert refused.value.reason == "checksum"
