"""A recording in the XML of HL7, of GE and of Philips.

Shapes: C leads, L samples.
"""

import base64
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tests.ecg_records.clinical_files import recording as ecg

from ecg_records.signal.leads import LEADS


def sequence_set(x_CL, leads=LEADS, fs=500, unit="uV", more="", milliseconds=0):
    """A set of sequences that begins so long after the recording."""
    seconds, milliseconds = divmod(milliseconds, 1000)
    time = (
        '<component><sequence><code code="TIME_ABSOLUTE"/><value xsi:type="GLIST_TS">'
        f'<head value="{int(ecg.ACQUIRED) + seconds}.{milliseconds:03}"/>'
        f'<increment value="{1 / fs!r}" unit="s"/></value></sequence></component>'
    )
    rows = [
        f'<component><sequence><code code="MDC_ECG_LEAD_{lead.upper()}"/><value xsi:type="SLIST_PQ">'
        f'<origin value="0" unit="{unit}"/><scale value="{ecg.STEP_UV}" unit="{unit}"/>'
        f"<digits>{' '.join(map(str, row))}</digits></value></sequence></component>"
        for lead, row in zip(leads, ecg.steps(x_CL).tolist(), strict=True)
    ]
    return f"<component><sequenceSet>{time}{more}{''.join(rows)}</sequenceSet></component>"


def aecg(path, x_CL, leads=LEADS, fs=500, unit="uV", more="", sets=None, born=ecg.BORN):
    """`sets`: the sequence sets, in place of one of all leads."""
    sets = sequence_set(x_CL, leads, fs, unit, more) if sets is None else "".join(sets)
    person = (
        f'<componentOf><trialSubject><id extension="{ecg.NUMBER}"/><subjectDemographicPerson>'
        f'<name>{ecg.NAME}</name><administrativeGenderCode code="F"/>'
        f'<birthTime value="{born}"/></subjectDemographicPerson>'
        "</trialSubject></componentOf>"
    )
    numbers = zip(_AECG, (f'<value value="{value}"/>' for value in ecg.MEASURED.values()), strict=True)
    texts = [("INTERPRETATION_STATEMENT", f"<value>{text}, </value>") for text in ecg.TEXTS]
    annotations = "".join(
        f'<component><annotation><code code="MDC_ECG_{code}"/>{value}</annotation></component>'
        for code, value in (*numbers, *texts)
    )
    path.write_text(
        '<?xml version="1.0" encoding="UTF-8"?><AnnotatedECG xmlns="urn:hl7-org:v3" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{person}<component><series>'
        f'<effectiveTime><low value="{ecg.ACQUIRED}.000"/></effectiveTime>{_cutoff("HIGH", ecg.LOW)}'
        f"{_cutoff('LOW', ecg.HIGH)}{sets}<subjectOf><annotationSet>{annotations}"
        "</annotationSet></subjectOf></series></component></AnnotatedECG>",
        encoding="utf-8",
    )


_AECG = ("HEART_RATE", "TIME_PD_PR", "TIME_PD_QRS", "TIME_PD_QT", "TIME_PD_QTcB", "ANGLE_QRS_FRONT")
_MUSE = ("VentricularRate", "PRInterval", "QRSDuration", "QTInterval", "QTCorrected", "RAxis")
_AXES = "<PAxis>41</PAxis><TAxis>350</TAxis><AtrialRate>132</AtrialRate>"
_PHILIPS = ("heartrate", "print", "qrsdur", "qtint", "qtcb", "qrsfrontaxis")


def _measured(tags: Sequence[str]) -> str:
    measured = zip(tags, ecg.MEASURED.values(), strict=True)
    return "".join(f"<{tag}>{value:g}</{tag}>" for tag, value in measured)


def _cutoff(what: str, hertz: float) -> str:
    return (
        f'<controlVariable><controlVariable><code code="MDC_ECG_CTL_VBL_ATTR_FILTER_{what}_PASS"/><component>'
        f'<controlVariable><value value="{hertz}" unit="Hz"/></controlVariable></component></controlVariable>'
        "</controlVariable>"
    )


def muse(
    path,
    x_CL,
    leads=("I", "II", "V1", "V2", "V3", "V4", "V5", "V6"),
    fs=500,
    unit="MICROVOLTS",
    bytes_kept=None,
    late="",
    sample_bytes=2,
):
    rows = []
    for lead in leads:
        content = ecg.steps(x_CL[LEADS.index(lead)]).tobytes()[:bytes_kept]
        rows.append(
            f"<LeadData><LeadSampleCountTotal>{x_CL.shape[1]}</LeadSampleCountTotal>"
            f"<LeadAmplitudeUnitsPerBit>{ecg.STEP_UV}</LeadAmplitudeUnitsPerBit>"
            f"<LeadAmplitudeUnits>{unit}</LeadAmplitudeUnits><LeadID>{lead}</LeadID>"
            f"<LeadSampleSize>{sample_bytes}</LeadSampleSize>"
            f"<LeadOffsetFirstSample>{100 * (lead == late)}</LeadOffsetFirstSample>"
            f"<WaveFormData>\n{base64.encodebytes(content).decode()}</WaveFormData></LeadData>"
        )
    path.write_text(
        '<?xml version="1.0" encoding="ISO-8859-1"?><!DOCTYPE RestingECG SYSTEM "restecg.dtd"><RestingECG>'
        f"<PatientDemographics><PatientID>{ecg.NUMBER}</PatientID><PatientLastName>{ecg.NAME}</PatientLastName>"
        "<PatientAge>42</PatientAge><AgeUnits>YEARS</AgeUnits><Gender>FEMALE</Gender></PatientDemographics>"
        "<TestDemographics><AcquisitionDate>01-25-2013</AcquisitionDate>"
        "<AcquisitionTime>10:59:19</AcquisitionTime></TestDemographics>"
        f"<RestingECGMeasurements>{_measured(_MUSE)}{_AXES}</RestingECGMeasurements><Diagnosis>{_muse_lines()}</Diagnosis>"
        f"<Waveform><WaveformType>Rhythm</WaveformType><LowPassFilter>{ecg.HIGH}</LowPassFilter><SampleBase>{fs:g}</SampleBase>"
        f"<SampleExponent>0</SampleExponent>{''.join(rows)}</Waveform></RestingECG>",
        encoding="latin-1",
    )


def _muse_lines() -> str:
    """Lines in parts, what a person added, and what compares with an older ECG."""
    infarct, old = ecg.STATED[1].split(",")
    parts = (
        *(
            (ecg.STATED[0], "ENDSLINE"),
            (infarct, ""),
            (f",{old}", "ENDSLINE"),
            (ecg.CONFIRMED, "USERINSERT"),
        ),
        *(("", "ENDSLINE"), ("When compared with ECG of", ""), ("Atrial fibrillation", "ENDSLINE")),
    )
    return "".join(
        f"<DiagnosisStatement>{f'<StmtFlag>{flag}</StmtFlag>' * bool(flag)}<StmtText>{text}</StmtText>"
        "</DiagnosisStatement>"
        for text, flag in parts
    )


def philips(
    path,
    x_CL,
    leads=LEADS,
    fs=500,
    *,
    version="1.04",
    method="XLI",
    resolution=ecg.STEP_UV,
    bytes_kept=None,
    announced=None,
    mark=True,
):
    """With a calibration mark of 0.2 s behind the recording, as Philips' own files have it."""
    d_CL = ecg.steps(x_CL).astype(np.int64)
    if mark:
        behind = np.zeros((len(d_CL), 200), np.int64)
        behind[:, 50:150] = 1000 // ecg.STEP_UV
        d_CL = np.concatenate([d_CL, behind], axis=1)
    i, ii, iii, avr, avl, avf = d_CL[:6]
    stored = [
        *(i, ii, ii - i - iii, -((i + ii) // 2) - avr, (i - iii) // 2 - avl, (ii + iii) // 2 - avf),
        *d_CL[6:],
    ]
    content = b"".join(map(_xli, stored))[:bytes_kept]
    milliseconds = round((announced or d_CL.shape[1]) * 1000 / fs)
    path.write_text(
        '<?xml version="1.0" encoding="UTF-16"?><restingecgdata xmlns="http://www3.medical.philips.com">'
        f"<documentinfo><documenttype>PhilipsECG</documenttype><documentversion>{version}</documentversion>"
        '</documentinfo><dataacquisition date="2013-01-25" time="10:59:19"><signalcharacteristics>'
        f"<samplingrate>{fs:g}</samplingrate><resolution>{resolution}</resolution>"
        f"<hipass>{ecg.LOW}</hipass><lowpass>{ecg.HIGH}</lowpass></signalcharacteristics>"
        f"</dataacquisition><patient><generalpatientdata><patientid>{ecg.NUMBER}</patientid><name><lastname>"
        f"{ecg.NAME}</lastname></name><age><dateofbirth>1971-01-23</dateofbirth></age><sex>Female</sex>"
        "</generalpatientdata></patient><interpretations><interpretation><globalmeasurements>"
        f"<pdur>Failed</pdur>{_measured(_PHILIPS)}</globalmeasurements>"
        + "".join(f"<statement><leftstatement>{text}</leftstatement></statement>" for text in ecg.TEXTS)
        + "</interpretation></interpretations><waveforms>"
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
