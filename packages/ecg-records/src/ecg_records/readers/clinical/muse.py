"""Read GE MUSE XML documents (`RestingECG`). Each lead is a base64 string of 16-bit samples.

MUSE stores I, II and V1 to V6. The other four leads are computed from I and II.

Shapes: K leads of the file, L samples.
"""

import base64
import datetime
import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport, number
from ecg_records.readers.clinical.groups import Group, is_derived, joined
from ecg_records.readers.clinical.waveform import (
    Waveform,
    filtered,
    finite_gain,
    flagged,
    per_mv,
    silenced,
    stacked,
    years,
)
from ecg_records.record import sex_letter
from ecg_records.signal.leads import is_lead

ROOT = "RestingECG"
SAMPLE_BYTES = "2"
_MEASURED = {
    "rate": "VentricularRate",
    "pr": "PRInterval",
    "qrs": "QRSDuration",
    "qt": "QTInterval",
    "qtc": "QTCorrected",
    "axis": "RAxis",
    "p_axis": "PAxis",
    "t_axis": "TAxis",
    "atrial_rate": "AtrialRate",
}
_UNITS = {"MICROVOLTS": "uV", "MILLIVOLTS": "mV"}
_TRUE = {"TRUE", "1", "YES"}


def waveform(root: Element) -> Waveform:
    """Read a GE MUSE document. Raises `RecordError`."""
    parts = root.findall("Waveform")
    rhythms = [part for part in parts if _text(part, "WaveformType") == "Rhythm"]
    rhythms = rhythms or [part for part in parts if not is_derived(_text(part, "WaveformType"))]
    rhythms = [part for part in rhythms if _leads(part)]
    if not rhythms:
        raise RecordError(Reason.signal_format, "has no rhythm waveform: export the ECG with its waveform")
    names, x_KL, fs, notes = joined(list(map(_group, rhythms)))
    leads = [lead for part in rhythms for lead in _leads(part)]
    off = {_text(lead, "LeadID"): "lead off" for lead in leads if _text(lead, "LeadOff").upper() in _TRUE}
    demographics = root.find("PatientDemographics")
    demographics = Element("") if demographics is None else demographics
    signal_names = (_text(lead, "LeadID") for part in rhythms for lead in part.findall("LeadData"))
    return Waveform(
        names=names,
        x_KL=silenced(names, x_KL, off),
        fs=fs,
        patient=_text(root, "PatientDemographics/PatientID"),
        acquired=_acquired(root),
        age=years(_text(demographics, "PatientAge"), _text(demographics, "AgeUnits") or "YEARS"),
        born=_day(_text(demographics, "DateofBirth")),
        sex=sex_letter(_text(root, "PatientDemographics/Gender")),
        notes=(
            *notes,
            *flagged(off),
            *filtered(high=_text(rhythms[0], "LowPassFilter"), notch=_text(rhythms[0], "ACFilter")),
        ),
        unused=tuple(dict.fromkeys(name for name in signal_names if not is_lead(name))),
        device=_text(root, "TestDemographics/AcquisitionDevice"),
        machine=_machine(root),
    )


def _group(part: Element) -> Group:
    """Return the leads of a waveform as a group. Their samples are decoded on demand."""
    leads = _leads(part)
    if len({_text(lead, "LeadOffsetFirstSample") or "0" for lead in leads}) > 1:
        raise RecordError(Reason.shape, "leads must begin at the same time")
    fs = number(_text(part, "SampleBase")) * 10 ** number(_text(part, "SampleExponent") or 0)
    if not 0 < fs < math.inf:
        raise RecordError(Reason.sampling_rate, "doesn't state a valid sampling rate")
    announced = number(_text(leads[0], "LeadSampleCountTotal"))
    content = len("".join(_text(leads[0], "WaveFormData").split())) * 3 // 4 // int(SAMPLE_BYTES)
    return Group(
        names=[_text(lead, "LeadID") for lead in leads],
        samples=int(announced) if 0 < announced < math.inf else content,
        fs=fs,
        read=lambda: stacked([_millivolts(lead) for lead in leads]),
        label=_text(part, "WaveformType"),
    )


def _machine(root: Element) -> MachineReport:
    """Return the confirmed measurements and statements, without free text that users added."""
    measured = {name: _text(root, f"RestingECGMeasurements/{tag}") for name, tag in _MEASURED.items()}
    parts = root.findall("Diagnosis/DiagnosisStatement")
    return MachineReport.of(measured, _lines(parts or root.findall("OriginalDiagnosis/DiagnosisStatement")))


def _lines(parts: Sequence[Element]) -> list[str]:
    """Join the parts of statements to lines, and drop comparisons with previous ECGs.

    A line can have several parts, because MUSE stores phrases such as `Cannot rule out` separately.
    """
    lines = [""]
    for part in parts:
        text, flags = _text(part, "StmtText"), [flag.text for flag in part.findall("StmtFlag")]
        if text.lower().startswith("when compared with"):
            break
        if "USERINSERT" not in flags:
            lines[-1] += text if text.startswith(",") else f" {text}"
        if "ENDSLINE" in flags:
            lines.append("")
    return lines


def _text(element: Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _leads(rhythm: Element) -> list[Element]:
    return [lead for lead in rhythm.findall("LeadData") if is_lead(_text(lead, "LeadID"))]


def _acquired(root: Element) -> str | None:
    """Return the time of acquisition in ISO 8601. MUSE writes the month first."""
    day, time = (_text(root, f"TestDemographics/Acquisition{what}") for what in ("Date", "Time"))
    try:
        return datetime.datetime.strptime(f"{day} {time}", "%m-%d-%Y %H:%M:%S").isoformat()
    except ValueError:
        return None


def _day(text: str) -> str | None:
    """Return a date in ISO 8601. MUSE writes the month first."""
    try:
        return datetime.datetime.strptime(text, "%m-%d-%Y").date().isoformat()
    except ValueError:
        return None


def _millivolts(lead: Element) -> NDArray[np.float64]:
    name = _text(lead, "LeadID")
    size = _text(lead, "LeadSampleSize") or SAMPLE_BYTES
    if size != SAMPLE_BYTES:
        problem = f"samples of lead {name} must have {SAMPLE_BYTES} bytes, got {size[:20]}"
        raise RecordError(Reason.signal_format, problem)
    unit = _text(lead, "LeadAmplitudeUnits").upper()
    step = finite_gain(_text(lead, "LeadAmplitudeUnitsPerBit")) / per_mv(_UNITS.get(unit, unit))
    content = base64.b64decode("".join(_text(lead, "WaveFormData").split()), validate=True)
    d_L = np.frombuffer(content, "<i2", len(content) // 2)
    announced = _text(lead, "LeadSampleCountTotal")
    if announced and announced != str(len(d_L)):
        raise RecordError(Reason.truncated, f"has {len(d_L)} of {announced[:20]} samples in lead {name}")
    return d_L * step
