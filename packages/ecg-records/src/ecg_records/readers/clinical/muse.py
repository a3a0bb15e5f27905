"""GE MUSE XML: `RestingECG`, a base64 text of 16-bit samples per lead.

MUSE stores I, II and V1 to V6; the other four leads follow from them.

Shapes: K leads as found, L samples.
"""

import base64
import datetime
from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport
from ecg_records.readers.clinical.waveform import Waveform, filtered, finite_gain, is_lead, per_mv, stacked
from ecg_records.record import age_in_years, sex_letter

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


def waveform(root: Element) -> Waveform:
    """Read a GE MUSE document. Raises `RecordError`."""
    rhythms = [part for part in root.findall("Waveform") if _text(part, "WaveformType") == "Rhythm"]
    if not rhythms:
        raise RecordError(Reason.signal_format, "holds no rhythm: was it exported without its waveform?")
    best = max(rhythms, key=lambda item: len(_leads(item)))
    leads = _leads(best)
    if len({_text(lead, "LeadOffsetFirstSample") or "0" for lead in leads}) > 1:
        raise RecordError(Reason.shape, "has leads that begin at different times")
    try:
        fs = float(_text(best, "SampleBase")) * 10 ** float(_text(best, "SampleExponent") or 0)
    except (ValueError, OverflowError) as error:
        raise RecordError(Reason.sampling_rate, "does not say its sampling rate") from error
    years = _text(root, "PatientDemographics/AgeUnits").upper() in {"", "YEARS"}
    return Waveform(
        names=[_text(lead, "LeadID") for lead in leads],
        x_KL=stacked([_millivolts(lead) for lead in leads]),
        fs=fs,
        patient=_text(root, "PatientDemographics/PatientID"),
        acquired=_acquired(root),
        age=age_in_years(_text(root, "PatientDemographics/PatientAge")) if years else None,
        sex=sex_letter(_text(root, "PatientDemographics/Gender")),
        notes=filtered(high=_text(best, "LowPassFilter"), notch=_text(best, "ACFilter")),
        device=_text(root, "TestDemographics/AcquisitionDevice"),
        machine=_machine(root),
    )


def _machine(root: Element) -> MachineReport:
    """Measurements and statements as confirmed, without what somebody wrote in words of their own."""
    measured = {name: _text(root, f"RestingECGMeasurements/{tag}") for name, tag in _MEASURED.items()}
    parts = root.findall("Diagnosis/DiagnosisStatement")
    return MachineReport.of(measured, _lines(parts or root.findall("OriginalDiagnosis/DiagnosisStatement")))


def _lines(parts: Sequence[Element]) -> list[str]:
    """Return whole lines, because `Cannot rule out` is a separate part; without comparisons of two ECGs."""
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
    """Return the time of acquisition; MUSE writes the month first."""
    day, time = (_text(root, f"TestDemographics/Acquisition{what}") for what in ("Date", "Time"))
    try:
        return datetime.datetime.strptime(f"{day} {time}", "%m-%d-%Y %H:%M:%S").isoformat()
    except ValueError:
        return None


def _millivolts(lead: Element) -> NDArray[np.float64]:
    name = _text(lead, "LeadID")
    if (_text(lead, "LeadSampleSize") or SAMPLE_BYTES) != SAMPLE_BYTES:
        raise RecordError(Reason.signal_format, f"has no 16-bit samples in lead {name}")
    unit = _text(lead, "LeadAmplitudeUnits").upper()
    step = finite_gain(_text(lead, "LeadAmplitudeUnitsPerBit")) / per_mv(_UNITS.get(unit, unit))
    content = base64.b64decode("".join(_text(lead, "WaveFormData").split()), validate=True)
    d_L = np.frombuffer(content, "<i2", len(content) // 2)
    announced = _text(lead, "LeadSampleCountTotal")
    if announced and announced != str(len(d_L)):
        raise RecordError(Reason.truncated, f"has {len(d_L)} of {announced[:20]} samples in lead {name}")
    return d_L * step
