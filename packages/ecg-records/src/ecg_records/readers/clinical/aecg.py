"""Read HL7 annotated ECGs (aECG, ANSI/HL7 V3 ECG R1).

A file has sequence sets, which are groups of leads with a common time axis. Each lead is a sequence of digits
with an origin and a scale. Only the recorded rhythm is read. The representative beat is ignored, because it
is a derived series.

Shapes: K leads of the file, L samples.
"""

import datetime
import re
import warnings
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport, number
from ecg_records.readers.clinical.groups import Group, is_derived, joined
from ecg_records.readers.clinical.waveform import Waveform, filtered, finite_gain, moment, per_mv, stacked
from ecg_records.record import sex_letter
from ecg_records.signal.leads import is_lead

ROOT = "AnnotatedECG"
_MEASURED = {
    "rate": "MDC_ECG_HEART_RATE",
    "rr": "MDC_ECG_TIME_PD_RR",
    "p": "MDC_ECG_TIME_PD_P",
    "pr": "MDC_ECG_TIME_PD_PR",
    "qrs": "MDC_ECG_TIME_PD_QRS",
    "qt": "MDC_ECG_TIME_PD_QT",
    "qtc": "MDC_ECG_TIME_PD_QTcB",
    "axis": "MDC_ECG_ANGLE_QRS_FRONT",
}
_STATEMENT = "MDC_ECG_INTERPRETATION_STATEMENT"
WITH_SECONDS = 14
"""Number of digits of a date with a time in seconds."""
_DIGITS = re.compile(r"\d*")
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def waveform(root: Element) -> Waveform:
    """Read an HL7 aECG document. Raises `RecordError`."""
    sets = [
        (series, group)
        for series in root.findall("{*}component/{*}series")
        for group in series.findall("{*}component/{*}sequenceSet")
    ]
    if not sets:
        raise RecordError(Reason.signal_format, "has no waveform: export the ECG with its waveform")
    names, x_KL, fs, notes = joined([_group(series, group) for series, group in sets])
    codes = dict.fromkeys(code for _, group in sets for code in _codes(group))
    person = root.find(".//{*}subjectDemographicPerson")
    birth = None if person is None else person.find("{*}birthTime")
    gender = None if person is None else person.find("{*}administrativeGenderCode")
    subject = root.find(".//{*}trialSubject/{*}id")
    start = root.find("{*}component/{*}series/{*}effectiveTime/{*}low")
    start = start if start is not None else root.find("{*}effectiveTime/{*}low")
    return Waveform(
        names=names,
        x_KL=x_KL,
        fs=fs,
        patient=_attribute(subject, "extension") or _attribute(subject, "root"),
        born=moment(_attribute(birth, "value")),
        acquired=moment(_attribute(start, "value")),
        sex=sex_letter(_attribute(gender, "code")),
        notes=(*notes, *filtered(*(_cutoff(root, what) for what in ("HIGH_PASS", "LOW_PASS", "NOTCH")))),
        machine=_machine(root),
        unused=tuple(code for code in codes if not code.startswith("TIME_") and not is_lead(code)),
    )


def _group(series: Element, group: Element) -> Group:
    """Return the leads of a sequence set. Their samples are parsed on demand."""
    rates, starts, names, values = set(), list[float](), [], []
    for code, sequence in zip(_codes(group), group.findall("{*}component/{*}sequence"), strict=True):
        value = sequence.find("{*}value")
        if value is None:
            continue
        if code.startswith("TIME_"):
            rates.add(_rate(value))
            starts += _head(value.find("{*}head"))
        elif is_lead(code):
            names.append(code)
            values.append(value)
    label = " ".join(_attribute(part.find("{*}code"), "code") or "" for part in (series, group))
    if names and not is_derived(label) and len(rates) != 1:
        stated = " and ".join(f"{rate:g} Hz" for rate in sorted(rates)) or "none"
        raise RecordError(Reason.sampling_rate, f"a set of leads must state one sampling rate, got {stated}")
    samples = len((values[0].findtext("{*}digits") or "").split()) if values else 0
    return Group(
        names=names,
        samples=samples,
        fs=min(rates, default=1.0),
        read=lambda: stacked(list(map(_millivolts, values))),
        start=starts[0] if starts else None,
        label=label,
    )


def _head(head: Element | None) -> list[float]:
    """Return a list with the start of a sequence set in seconds, or [] if the start is unknown."""
    text = _attribute(head, "value") or ""
    unit = _attribute(head, "unit")
    if unit in _SECONDS:
        return [number(text) * _SECONDS[unit]] if number(text) == number(text) else []
    when, _, fraction = text.partition(".")
    begun = moment(when) if len(when) >= WITH_SECONDS else None
    if begun is None:
        return []
    second = datetime.datetime.fromisoformat(begun).replace(tzinfo=datetime.UTC).timestamp()
    digits = _DIGITS.match(fraction)
    return [second + float(f"0.{digits[0] if digits else ''}0")]


def _machine(root: Element) -> MachineReport:
    """Return the report of the device.

    A measurement that is annotated for several beats is their median. Intervals without a unit are in ms.
    """
    values: dict[str, list[float]] = {}
    stated: list[str | None] = []
    for annotation in root.iterfind("{*}component/{*}series/{*}subjectOf//{*}annotation"):
        code, value = _attribute(annotation.find("{*}code"), "code") or "", annotation.find("{*}value")
        if code == _STATEMENT and value is not None:
            stated.append(value.text)
        elif code in _MEASURED.values() and value is not None:
            scale = 1e3 * _SECONDS.get(value.get("unit") or "ms", 1e-3)
            values.setdefault(code, []).append(scale * number(value.get("value")))
    measured = {name: np.median(values[code]) for name, code in _MEASURED.items() if code in values}
    return MachineReport.of(measured, stated)


def _cutoff(root: Element, what: str) -> str | None:
    for outer in root.findall("{*}component/{*}series/{*}controlVariable/{*}controlVariable"):
        if _attribute(outer.find("{*}code"), "code") == f"MDC_ECG_CTL_VBL_ATTR_FILTER_{what}":
            values = outer.findall("{*}component/{*}controlVariable/{*}value")
            return next((value.get("value") for value in values if value.get("unit") == "Hz"), None)
    return None


def _attribute(element: Element | None, attribute: str) -> str | None:
    return None if element is None else element.get(attribute)


def _codes(sequences: Element) -> list[str]:
    codes = (sequence.find("{*}code") for sequence in sequences.findall("{*}component/{*}sequence"))
    return [_attribute(code, "code") or "" for code in codes]


def _rate(value: Element) -> float:
    increment = value.find("{*}increment")
    step = finite_gain(_attribute(increment, "value")) * _SECONDS.get(
        _attribute(increment, "unit") or "s", np.nan
    )
    if not step > 0:
        raise RecordError(Reason.sampling_rate, "doesn't state the time between two samples")
    return round(1 / step, 6)


def _millivolts(value: Element) -> NDArray[np.float64]:
    origin, scale = value.find("{*}origin"), value.find("{*}scale")
    step = finite_gain(_attribute(scale, "value")) / per_mv(_attribute(scale, "unit"))
    start = number(_attribute(origin, "value") or 0)
    start = start / per_mv(_attribute(origin, "unit")) if start else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy warns if the text isn't a list of numbers
        digits = (value.findtext("{*}digits") or "").replace(",", ".")
        digits_L = np.fromstring(digits, np.float64, sep=" ")
    return digits_L * step + start
