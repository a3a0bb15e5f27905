"""One recording in each format that hospitals store, written so that a test can spoil any part of it.

Shapes: C leads, L samples.
"""

import base64
import binascii
import datetime
import struct
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marecg.config import LEADS

STEP_UV = 5
"""What one step of every format is worth."""
LOW, HIGH = 0.05, 150
"""The filters that every file tells of, Hz; MUSE only of the second in Hz."""
NAME, NUMBER = "Nightingale", "MRN-0042"
BORN, ACQUIRED = "19710123", "20130125105919"
_NUMBERS = dict(zip(("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"), range(1, 9), strict=True)) | dict(
    zip(("III", "aVR", "aVL", "aVF"), range(61, 65), strict=True)
)


def steps(x_CL: NDArray[np.floating]) -> NDArray[np.int16]:
    return np.rint(x_CL * 1000 / STEP_UV).astype("<i2")


def dicom(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    unit: str = "uV",
    spoil: Callable[[object], None] = lambda data: None,
) -> None:
    from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, TwelveLeadECGWaveformStorage

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = TwelveLeadECGWaveformStorage
    meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=bytes(128))
    data.SOPClassUID, data.SOPInstanceUID = TwelveLeadECGWaveformStorage, "1.2.3.4"
    data.PatientName, data.PatientID, data.PatientSex = f"{NAME}^Florence", NUMBER, "F"
    data.PatientBirthDate, data.AcquisitionDateTime = BORN, ACQUIRED
    group = Dataset()
    group.WaveformOriginality, group.SamplingFrequency = "ORIGINAL", fs
    group.NumberOfWaveformChannels, group.NumberOfWaveformSamples = len(leads), x_CL.shape[1]
    group.WaveformBitsAllocated, group.WaveformSampleInterpretation = 16, "SS"
    group.WaveformData = steps(x_CL).T.tobytes()
    group.ChannelDefinitionSequence = []
    for lead in leads:
        channel, source, units = Dataset(), Dataset(), Dataset()
        source.CodeValue, source.CodingSchemeDesignator = f"2:{_NUMBERS[lead]}", "MDC"
        units.CodeValue, units.CodingSchemeDesignator = unit, "UCUM"
        channel.ChannelSourceSequence, channel.ChannelSensitivityUnitsSequence = [source], [units]
        channel.ChannelSensitivity, channel.ChannelBaseline = STEP_UV, 0
        channel.FilterLowFrequency, channel.FilterHighFrequency = LOW, HIGH
        group.ChannelDefinitionSequence.append(channel)
    data.WaveformSequence = [group]
    spoil(data)
    data.save_as(path, enforce_file_format=True)


def aecg(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    unit: str = "uV",
    more: str = "",
) -> None:
    time = (
        '<component><sequence><code code="TIME_ABSOLUTE"/><value xsi:type="GLIST_TS">'
        f'<head value="{ACQUIRED}.000"/><increment value="{1 / fs!r}" unit="s"/>'
        "</value></sequence></component>"
    )
    rows = [
        f'<component><sequence><code code="MDC_ECG_LEAD_{lead.upper()}"/><value xsi:type="SLIST_PQ">'
        f'<origin value="0" unit="{unit}"/><scale value="{STEP_UV}" unit="{unit}"/>'
        f"<digits>{' '.join(map(str, row))}</digits></value></sequence></component>"
        for lead, row in zip(leads, steps(x_CL).tolist(), strict=True)
    ]
    person = (
        f'<componentOf><trialSubject><id extension="{NUMBER}"/><subjectDemographicPerson><name>{NAME}</name>'
        f'<administrativeGenderCode code="F"/><birthTime value="{BORN}"/></subjectDemographicPerson>'
        "</trialSubject></componentOf>"
    )
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><AnnotatedECG xmlns="urn:hl7-org:v3" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{person}<component><series>'
        f'<effectiveTime><low value="{ACQUIRED}.000"/></effectiveTime>{_cutoff("HIGH", LOW)}'
        f"{_cutoff('LOW', HIGH)}<component><sequenceSet>"
        f"{time}{more}{''.join(rows)}</sequenceSet></component></series></component></AnnotatedECG>",
        encoding="utf-8",
    )


def _cutoff(what: str, hertz: float) -> str:
    return (
        f'<controlVariable><controlVariable><code code="MDC_ECG_CTL_VBL_ATTR_FILTER_{what}_PASS"/><component>'
        f'<controlVariable><value value="{hertz}" unit="Hz"/></controlVariable></component></controlVariable>'
        "</controlVariable>"
    )


def muse(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"),
    fs: float = 500,
    unit: str = "MICROVOLTS",
    bytes_kept: int | None = None,
    late: str = "",
) -> None:
    rows = []
    for lead in leads:
        content = steps(x_CL[LEADS.index(lead)]).tobytes()[:bytes_kept]
        rows.append(
            f"<LeadData><LeadSampleCountTotal>{x_CL.shape[1]}</LeadSampleCountTotal>"
            f"<LeadAmplitudeUnitsPerBit>{STEP_UV}</LeadAmplitudeUnitsPerBit>"
            f"<LeadAmplitudeUnits>{unit}</LeadAmplitudeUnits><LeadID>{lead}</LeadID>"
            f"<LeadSampleSize>2</LeadSampleSize>"
            f"<LeadOffsetFirstSample>{100 * (lead == late)}</LeadOffsetFirstSample>"
            f"<WaveFormData>\n{base64.encodebytes(content).decode()}</WaveFormData></LeadData>"
        )
    path.write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE RestingECG SYSTEM "restecg.dtd"><RestingECG>'
        f"<PatientDemographics><PatientID>{NUMBER}</PatientID><PatientLastName>{NAME}</PatientLastName>"
        "<PatientAge>42</PatientAge><AgeUnits>YEARS</AgeUnits><Gender>FEMALE</Gender></PatientDemographics>"
        "<TestDemographics><AcquisitionDate>01-25-2013</AcquisitionDate>"
        "<AcquisitionTime>10:59:19</AcquisitionTime></TestDemographics>"
        f"<Waveform><WaveformType>Rhythm</WaveformType><LowPassFilter>{HIGH}</LowPassFilter><SampleBase>{fs:g}</SampleBase>"
        f"<SampleExponent>0</SampleExponent>{''.join(rows)}</Waveform></RestingECG>",
        encoding="latin-1",
    )


def edf(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    unit: str = "uV",
    other_rate: str = "",
) -> None:
    from edfio import Edf, EdfSignal, Patient

    signals = []
    for lead, row in zip(leads, steps(x_CL).astype(np.int16), strict=True):
        half = lead == other_rate
        limits = {"physical_range": (-32768 * STEP_UV, 32767 * STEP_UV), "digital_range": (-32768, 32767)}
        signals.append(
            EdfSignal.from_digital(
                row[::2].copy() if half else row,
                fs / 2 if half else fs,
                label=f"ECG {lead}",
                physical_dimension=unit,
                prefiltering=f"HP:{LOW}Hz LP:{HIGH}Hz",
                **limits,
            )
        )
    when = datetime.datetime.strptime(ACQUIRED, "%Y%m%d%H%M%S")
    who = Patient(code=NUMBER, sex="F", birthdate=datetime.date(1971, 1, 23), name=NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from edfio import Recording

        recording = Recording(startdate=when.date())
        Edf(signals, patient=who, recording=recording, starttime=when.time(), annotations=()).write(path)


def scp(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    *,
    differences: int = 2,
    tables: int | None = 19999,
    flags: int = 0,
    bimodal: int = 0,
    nanovolts: int = STEP_UV * 1000,
    said: int | None = None,
    late: str = "",
    checksum: int = 0,
) -> None:
    """`tables`: 19999 the default Huffman code, None plain samples; `late`: a lead that begins later."""
    rows = [np.diff(row.astype(np.int64), differences) for row in steps(x_CL)]
    heads = [steps(x_CL)[row, :1].astype(np.int64) for row in range(len(leads))]
    if differences == 2:
        heads = [row[:2].astype(np.int64) for row in steps(x_CL)]
    elif differences == 0:
        heads = [row[:0].astype(np.int64) for row in steps(x_CL)]
    values = [np.concatenate(pair).tolist() for pair in zip(heads, rows, strict=True)]
    streams = [struct.pack(f"<{len(row)}h", *row) if tables is None else _huffman(row) for row in values]
    about = b"".join(
        struct.pack("<BH", tag, len(content)) + content
        for tag, content in (
            (0, NAME.encode() + b"\0"),
            (2, NUMBER.encode() + b"\0"),
            (5, struct.pack("<HBB", int(BORN[:4]), int(BORN[4:6]), int(BORN[6:]))),
            (8, b"\x02"),
            (25, struct.pack("<HBB", 2013, 1, 25)),
            (26, bytes([10, 59, 19])),
            (27, struct.pack("<H", round(LOW * 100))),
            (28, struct.pack("<H", HIGH)),
            (255, b""),
        )
    )
    samples = said or x_CL.shape[1]
    described = b"".join(
        struct.pack("<IIB", 1 + 100 * (lead == late), samples, _NUMBERS[lead]) for lead in leads
    )
    sizes = struct.pack(f"<{len(leads)}H", *map(len, streams))
    sections = {
        1: about,
        3: bytes([len(leads), flags | 4]) + described,
        6: struct.pack("<HHBB", nanovolts, round(1e6 / fs), differences, bimodal) + sizes + b"".join(streams),
    } | ({} if tables is None else {2: struct.pack("<H", tables)})
    place, pointers, content = 6 + 16 + 120, b"", b""
    for number in range(12):
        body = sections.get(number, b"")
        size = 136 if number == 0 else 16 + len(body) if body else 0
        pointers += struct.pack("<HII", number, size, 7 if number == 0 else place + 1 if body else 0)
        if body:
            content += struct.pack("<HHIBB6x", 0, number, size, 20, 20) + body
            place += size
    whole = struct.pack("<HHIBB6s", 0, 0, 136, 20, 20, b"SCPECG") + pointers + content
    whole = struct.pack("<I", 6 + len(whole)) + whole
    path.write_bytes(struct.pack("<H", binascii.crc_hqx(whole, 0xFFFF) ^ checksum) + whole)


def _huffman(values: Sequence[int]) -> bytes:
    """The default code of SCP-ECG."""

    def word(value: int) -> str:
        if value == 0:
            return "0"
        if abs(value) <= 8:
            return "1" * abs(value) + "0" + ("1" if value < 0 else "0")
        bits, mark = (8, "1" * 9 + "0") if -128 <= value < 128 else (16, "1" * 10)
        return mark + format(value % (1 << bits), f"0{bits}b")

    text = "".join(map(word, values))
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")


def philips(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    *,
    version: str = "1.04",
    method: str = "XLI",
    resolution: object = STEP_UV,
    bytes_kept: int | None = None,
    said: int | None = None,
    mark: bool = True,
) -> None:
    """With a calibration mark of 0.2 s behind the recording, as Philips' own files have it."""
    d_CL = steps(x_CL).astype(np.int64)
    if mark:
        behind = np.zeros((len(d_CL), 200), np.int64)
        behind[:, 50:150] = 1000 // STEP_UV
        d_CL = np.concatenate([d_CL, behind], axis=1)
    i, ii, iii, avr, avl, avf = d_CL[:6]
    stored = [
        *(i, ii, ii - i - iii, -((i + ii) // 2) - avr, (i - iii) // 2 - avl, (ii + iii) // 2 - avf),
        *d_CL[6:],
    ]
    content = b"".join(map(_xli, stored))[:bytes_kept]
    milliseconds = round((said or d_CL.shape[1]) * 1000 / fs)
    path.write_text(
        '<?xml version="1.0" encoding="UTF-16"?><restingecgdata xmlns="http://www3.medical.philips.com">'
        f"<documentinfo><documenttype>PhilipsECG</documenttype><documentversion>{version}</documentversion>"
        '</documentinfo><dataacquisition date="2013-01-25" time="10:59:19"><signalcharacteristics>'
        f"<samplingrate>{fs:g}</samplingrate><resolution>{resolution}</resolution>"
        f"<hipass>{LOW}</hipass><lowpass>{HIGH}</lowpass></signalcharacteristics>"
        f"</dataacquisition><patient><generalpatientdata><patientid>{NUMBER}</patientid><name><lastname>"
        f"{NAME}</lastname></name><age><dateofbirth>1971-01-23</dateofbirth></age><sex>Female</sex>"
        "</generalpatientdata></patient><waveforms>"
        f'<parsedwaveforms dataencoding="Base64" compression="{method}" '
        f'numberofleads="{len(leads)}" leadlabels="{" ".join(leads)}" '
        f'durationperchannel="{milliseconds}">{base64.encodebytes(content).decode()}</parsedwaveforms>'
        "</waveforms></restingecgdata>",
        encoding="utf-16",
    )


def _xli(d_L: NDArray[np.int64]) -> bytes:
    """Second differences, from above and one place late, split into bytes, in LZW of 10 bits."""
    bends = 2 * d_L[1:-1] - d_L[:-2] - d_L[2:]
    written = np.concatenate([d_L[:2], bends[1:] + 64, [64]]).astype(np.uint16)
    content = (written >> 8).astype(np.uint8).tobytes() + (written & 255).astype(np.uint8).tobytes()
    words = {bytes([byte]): byte for byte in range(256)}
    codes, word = [], b""
    for byte in content:
        longer = word + bytes([byte])
        if longer in words:
            word = longer
            continue
        codes.append(words[word])
        if len(words) < 1023:
            words[longer] = len(words)
        word = longer[-1:]
    bits = "".join(format(code, "010b") for code in [*codes, words[word], 1023])
    bits += "0" * (-len(bits) % 8)
    stream = int(bits, 2).to_bytes(len(bits) // 8, "big")
    return struct.pack("<ihh", len(stream), 0, int(bends[0])) + stream


FILES: dict[str, Callable[..., None]] = {
    "d.dcm": dicom,
    "a.xml": aecg,
    "m.xml": muse,
    "e.edf": edf,
    "s.scp": scp,
    "p.xml": philips,
}
