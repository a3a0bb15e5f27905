"""What hospitals store and can't be meant is refused with a reason, and quarantined."""

import os

import numpy as np
import pytest
from tests.ecg_records import clinical_files as files
from tests.ecg_records.clinical_files.dicom_file import element, picture

from ecg_records import read
from ecg_records.errors import RecordError
from ecg_records.signal.leads import LEADS
from marecg.corpus.prepare import prepare

pytest.importorskip("pydicom")

SPOILT = [
    ("d.dcm", {"spoil": picture}, "format", "has no waveform, only a picture"),
    ("d.dcm", {"spoil": element("file.WaveformSequence", None)}, "format", "has no waveform"),
    ("d.dcm", {"spoil": element("channel.ChannelSensitivity", None)}, "gain", "the gain of its samples"),
    ("d.dcm", {"spoil": element("channel.ChannelSensitivity", 0)}, "gain", "the gain of its samples"),
    ("d.dcm", {"spoil": element("group.WaveformOriginality", "DERIVED")}, "format", "derived"),
    ("d.dcm", {"spoil": element("group.NumberOfWaveformSamples", 9000)}, "truncated", "5000 of 9000"),
    ("d.dcm", {"spoil": element("group.NumberOfWaveformChannels", 11)}, "header", "got 12 descriptions"),
    ("d.dcm", {"unit": "mm[Hg]"}, "units", "must be in volts"),
    ("d.dcm", {"fs": 5}, "sampling-rate", "5 Hz"),
    ("a.xml", {"unit": "mA"}, "units", "must be in volts"),
    ("a.xml", {"fs": 1e6}, "sampling-rate", "Hz"),
    ("m.xml", {"unit": "PASCALS"}, "units", "must be in volts"),
    ("m.xml", {"bytes_kept": 9000}, "truncated", "4500 of 5000"),
    ("e.edf", {"unit": "degC"}, "units", "must be in volts"),
    ("e.edf", {"other_rate": "V3"}, "sampling-rate", "250 and 500 Hz"),
    ("m.xml", {"late": "V2"}, "shape", "must begin at the same time"),
    ("m.xml", {"sample_bytes": 4}, "format", "samples of lead I must have 2 bytes, got 4"),
    ("s.scp", {"flags": 1}, "format", "a reference beat: convert it"),
    ("s.scp", {"bimodal": 1}, "format", "two sampling rates"),
    ("s.scp", {"tables": 1}, "format", "its own Huffman tables"),
    ("s.scp", {"nanovolts": 0}, "gain", "the gain of its samples"),
    ("s.scp", {"fs": 20}, "sampling-rate", "20 Hz"),
    ("s.scp", {"late": "V2"}, "shape", "must begin at the same time"),
    ("s.scp", {"announced": 6000}, "truncated", "of 6000 samples in lead I"),
    ("s.scp", {"announced": 6000, "tables": None}, "truncated", "5000 of 6000 samples"),
    ("s.scp", {"checksum": 1}, "unreadable", "checksum differs"),
    ("p.xml", {"version": "2.0"}, "format", "version of Philips XML must be one of 1.03, .*, got 2.0"),
    ("p.xml", {"method": "ZIP"}, "format", "compressed with XLI, got Base64, ZIP"),
    ("p.xml", {"resolution": "coarse"}, "gain", "the gain of its samples"),
    ("p.xml", {"fs": 20}, "sampling-rate", "20 Hz"),
    ("p.xml", {"announced": 6000}, "truncated", "5200 of 6000 samples in lead I"),
    ("p.xml", {"leads": LEADS[::-1]}, "missing-lead", "got V6 V5"),
    ("p.xml", {"bytes_kept": 20_000}, "truncated", "samples in lead"),
]


@pytest.mark.parametrize(("name", "how", "reason", "words"), SPOILT)
def test_what_cannot_be_meant_is_refused_with_a_reason(tmp_path, x_CL, name, how, reason, words):
    files.FILES[name](tmp_path / name, x_CL, **how)
    with pytest.raises(RecordError, match=words) as refused:
        read(tmp_path / name)
    assert refused.value.reason == reason


@pytest.mark.parametrize("name", files.FILES)
def test_a_missing_lead_a_photograph_and_half_a_file_are_quarantined(tmp_path, x_CL, name):
    leads = [lead for lead in LEADS if lead != "V3"]
    rest_CL = x_CL if name == "m.xml" else np.delete(x_CL, LEADS.index("V3"), axis=0)
    lead, photo, half = (tmp_path / "in" / what / name for what in ("lead", "photo", "half"))
    for path in (lead, photo, half):
        path.parent.mkdir(parents=True)
    files.FILES[name](lead, rest_CL, leads=leads)
    photo.write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(2000))
    files.FILES[name](half, x_CL)
    os.truncate(half, half.stat().st_size // 2)
    report = prepare([tmp_path / "in"], tmp_path / "out", jobs=1)
    reasons = {each.source: each.reason for each in report.records}
    assert reasons["lead"] == "missing-lead"
    assert reasons["photo"] in {"format", "unreadable"}
    assert reasons["half"] in {"truncated", "unreadable"}


def test_an_edf_with_a_gap_is_refused_and_one_that_only_could_have_one_is_read(tmp_path, x_CL):
    files.edf(tmp_path / "e.edf", x_CL)
    content = (tmp_path / "e.edf").read_bytes().replace(b"EDF+C", b"EDF+D")
    (tmp_path / "e.edf").write_bytes(content)
    assert read(tmp_path / "e.edf").length == 5000
    (tmp_path / "e.edf").write_bytes(content.replace(b"+5\x14\x14", b"+7\x14\x14"))
    with pytest.raises(RecordError, match="must have no gaps") as refused:
        read(tmp_path / "e.edf")
    assert refused.value.reason == "multi-segment"


def test_leads_at_two_rates_of_an_aecg_are_refused(tmp_path, x_CL):
    second = '<component><sequence><code code="TIME_RELATIVE"/><value><increment value="0.004" unit="s"/>'
    files.aecg(tmp_path / "a.xml", x_CL, more=f"{second}</value></sequence></component>")
    with pytest.raises(RecordError, match="250 Hz and 500 Hz"):
        read(tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<restingecgdata/>", "version of Philips XML must be one of .*, got no version"),
        ("<sapphire/>", "must be XML of HL7 aECG, GE MUSE or Philips, got 'sapphire'"),
        ('<!DOCTYPE a [<!ENTITY b "b">]><AnnotatedECG>&b;</AnnotatedECG>', "EntitiesForbidden"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "/etc/hostname">]><RestingECG>&b;</RestingECG>', "Forbidden"),
    ],
)
def test_other_xml_and_entities_are_refused(tmp_path, text, words):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(RecordError, match=words):
        read(tmp_path / "a.xml")
