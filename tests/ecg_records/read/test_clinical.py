"""What hospitals store reads as what it is: mV, leads, rate, time; no names."""

import logging
import shutil
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.ecg_records import clinical_files as files
from tests.ecg_records.clinical_files.dicom_file import element
from tests.made_records import make_record

from ecg_ontology import CodeMapping, read_code_table
from ecg_records import read
from ecg_records.errors import CorpusError
from ecg_records.machine import MachineReport
from ecg_records.readers.clinical import scp
from ecg_records.readers.clinical.waveform import pseudonym
from ecg_records.record import Record
from ecg_records.signal.leads import LEADS
from marecg.corpus.cohort import cohort
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus

pydicom = pytest.importorskip("pydicom")
STEP = files.STEP_UV / 1000


@pytest.fixture
def archive(tmp_path, x_CL) -> Path:
    """One recording in every format, a folder below, and as WFDB."""
    folder = tmp_path / "archive"
    (folder / "2024").mkdir(parents=True)
    for name, write in files.FILES.items():
        write(folder / "2024" / name, x_CL)
    shutil.copy(folder / "2024" / "d.dcm", folder / "2024" / "1.2.840.10008")
    make_record(folder, "w", x_CL)
    return folder


def machine_report(name: str) -> MachineReport:
    """What a file holds of the machine: EDF nothing, SCP-ECG no QTc and whole ms for the rate, MUSE more."""
    if name == "e.edf":
        return MachineReport()
    values = files.MEASURED | ({"qtc": None, "rate": 60_000 / 909} if name == "s.scp" else {})
    more = {"p_axis": 41, "t_axis": -10, "atrial_rate": 132} if name == "m.xml" else {}
    return MachineReport(**values, **more, statements=files.STATED)


def test_one_recording_gives_the_same_millivolts_in_every_format(archive, x_CL):
    for name in (*files.FILES, "1.2.840.10008"):
        record = read(archive / "2024" / name)
        assert np.abs(record.x_CL - x_CL).max() < 1e-6, name
        assert (record.fs, record.length, record.leads) == (500, 5000, LEADS), name
        assert (record.sex, record.age, record.acquired) == ("F", 42, "2013-01-25T10:59:19"), name
        assert record.patient == pseudonym(files.NUMBER), name
        assert record.machine == machine_report(name), name
        assert f"filtered {'' if name == 'm.xml' else 'from 0.05 '}to 150 Hz" in record.notes, name
    assert read(archive / "2024" / "m.xml").notes[0] == "III, aVR, aVL, aVF computed from I and II"
    assert read(archive / "2024" / "p.xml").notes[0] == "the calibration mark at the end is left out"
    assert read(archive / "2024" / "d.dcm", seconds=2).x_CL.shape == (12, 1000)


def test_a_folder_mixes_formats_and_no_name_is_kept(archive, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    (tmp_path / "codes.csv").write_text("id,code\n2024/d.dcm,164889003\n2024/e,164889003\n")
    codes = read_code_table(tmp_path / "codes.csv")
    (archive / "2024" / "broken.dcm").write_bytes((archive / "2024" / "d.dcm").read_bytes()[:3000])
    (archive / "2024" / "x.scp").write_bytes(bytes(100))
    report = prepare([archive], tmp_path / "out", jobs=1, codes=codes)
    assert (report.found, report.kept) == (10, 8)
    assert sum(report.quarantined.values()) == 2
    rows = {row["path"]: row for row in pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()}
    assert rows["2024/d.dcm"]["codes"] == rows["2024/e.edf"]["codes"] == ["164889003"]
    assert rows["2024/a.xml"]["acquired"] == "2013-01-25T10:59:19"
    assert rows["2024/m.xml"]["statements"] == list(files.STATED)
    assert [rows["2024/m.xml"][f"machine_{name}"] for name in ("qrs", "p")] == [96, None]
    assert {rows[f"2024/{name}"]["source"] for name in files.FILES} == {"2024"}
    everything = b"".join(each.read_bytes() for each in (tmp_path / "out").rglob("*") if each.is_file())
    words = repr(rows) + repr(report) + caplog.text
    for secret in (files.NAME, files.NUMBER):
        assert secret.encode() not in everything
        assert secret not in words


def test_a_mapping_gives_codes_to_what_machines_state(archive, tmp_path):
    (tmp_path / "mapping.csv").write_text("code,snomed\nsinus rhythm,426783006\nPaced,10370003\n")
    report = prepare([archive], tmp_path / "out", jobs=1, codes=CodeMapping.read(tmp_path / "mapping.csv"))
    corpus = Corpus.open(tmp_path / "out")
    stated = cohort(corpus, "array_to_string(statements, ';') ILIKE '%Sinus Rhythm%'")["row"].to_pylist()
    measured = cohort(corpus, "NSR AND machine_qrs > 90 AND NOT machine_qrs > 96")
    assert stated == measured["row"].to_pylist()
    assert len(stated) == len(files.FILES)  # a copy of the DICOM file is there in place of EDF
    assert report.codes is not None
    unmapped = {"code": files.STATED[1], "status": "unmapped", "records": len(stated)}
    assert [each.model_dump() for each in report.codes.reaching_nothing] == [unmapped]
    assert report.codes.records_with_codes == len(stated) + 1  # the WFDB record brings its own
    with pytest.raises(CorpusError, match="code table"):
        prepare([archive], tmp_path / "out", jobs=1)


def test_the_ecg_that_pydicom_ships_reads_as_pydicom_reads_it():
    path = Path(pydicom.__file__).parent / "data" / "test_files" / "waveform_ecg.dcm"
    record = read(path)
    bare = pydicom.dcmread(path)
    assert np.abs(record.x_CL - bare.waveform_array(0).T / 1000).max() < 1e-5
    assert (record.fs, record.length, record.age, record.sex) == (1000, 10_000, 42, "F")
    assert record.acquired == "2013-01-25T10:59:19"
    machine = record.machine
    assert (machine.pr, machine.qrs, machine.qt, machine.axis) == (161, 75, 368, 52)
    assert machine.statements == ("RITMO SINUSALE", "ECG NORMALE")
    i, ii, iii = record.x_CL[:3]
    assert np.abs(i + iii - ii).max() < 0.01


def test_a_dicom_channel_is_sensitivity_times_correction_plus_its_baseline(tmp_path, x_CL):
    """Every step is 5 µV, corrected by 2, and the channel begins at 300 µV."""

    def channel(data):
        element("channel.ChannelSensitivityCorrectionFactor", 2)(data)
        element("channel.ChannelBaseline", 300)(data)

    files.dicom(tmp_path / "d.dcm", x_CL, spoil=channel)
    expected = files.steps(x_CL) * 0.005
    expected[0] = 2 * expected[0] + 0.3
    np.testing.assert_allclose(read(tmp_path / "d.dcm").x_CL, expected, atol=1e-6)


def test_what_fills_gaps_of_a_dicom_file_is_no_signal(tmp_path, x_CL):
    def gap(data):
        group = data.WaveformSequence[0]
        group.WaveformPaddingValue = (-32768).to_bytes(2, "little", signed=True)
        samples = np.frombuffer(group.WaveformData, "<i2").reshape(-1, 12).copy()
        samples[100:110, 3] = -32768
        group.WaveformData = samples.tobytes()

    files.dicom(tmp_path / "d.dcm", x_CL, spoil=gap)
    missing = np.isnan(read(tmp_path / "d.dcm").x_CL)
    assert np.argwhere(missing).tolist() == [[3, place] for place in range(100, 110)]


def altered(path: Path, *changes: tuple[str, str], encoding: str = "latin-1") -> Record:
    text = path.read_text(encoding=encoding)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding=encoding)
    return read(path)


def test_an_aecg_s_digits_count_from_its_origin(tmp_path, x_CL):
    files.aecg(tmp_path / "a.xml", x_CL)
    origin = ('<origin value="0" unit="uV"/>', '<origin value="0.25" unit="mV"/>')
    shifted_CL = altered(tmp_path / "a.xml", origin).x_CL
    np.testing.assert_allclose(shifted_CL, files.steps(x_CL) * STEP + 0.25, atol=1e-6)


def test_muse_s_rate_has_an_exponent_and_its_age_a_unit(tmp_path, x_CL):
    files.muse(tmp_path / "m.xml", x_CL)
    exponent = ("<SampleExponent>0<", "<SampleExponent>1<"), ("<SampleBase>500<", "<SampleBase>50<")
    assert altered(tmp_path / "m.xml", *exponent).fs == 500
    assert altered(tmp_path / "m.xml", ("YEARS", "MONTHS")).age == 3.5


@pytest.mark.parametrize(
    ("unit", "age"), [(1, 42.0), (2, 3.5), (3, 294 / 365.25), (4, 42 / 365.25), (5, 1.75 / 365.25)]
)
def test_scp_s_age_has_a_unit(unit, age):
    """42 of 1 years, 2 months, 3 weeks, 4 days, 5 hours."""
    assert scp._patient(struct.pack("<BHHB", 4, 3, 42, unit))["age"] == pytest.approx(age)


@pytest.mark.parametrize("tables", [None, 19999])
@pytest.mark.parametrize("differences", [0, 1, 2])
def test_scp_is_read_plain_and_by_huffman_whole_and_as_differences(tmp_path, x_CL, tables, differences):
    x_CL = x_CL * np.linspace(0.2, 5, 12)[:, None]
    files.scp(tmp_path / "s", x_CL, tables=tables, differences=differences)  # known without an ending, too
    expected = files.steps(x_CL) * STEP
    assert np.abs(read(tmp_path / "s").x_CL - expected).max() < 1e-5


def test_a_philips_file_without_a_mark_is_read_whole(tmp_path, x_CL):
    files.philips(tmp_path / "p.xml", x_CL[:, :3000], mark=False)
    record = read(tmp_path / "p.xml")
    assert (record.length, record.notes) == (3000, ("filtered from 0.05 to 150 Hz", "no diagnosis"))
    assert np.abs(record.x_CL - x_CL[:, :3000]).max() < 1e-6
