"""Read Philips XML (`restingecgdata`, versions 1.03 and 1.04).

All leads are stored in a base64 string that is compressed by XLI. XLI stores the second differences of each
lead, high bytes before low bytes, in 10-bit LZW. III, aVR, aVL and aVF are stored as differences from the
values computed from I and II. The format is not published. The project sierra-ecg-tools reverse-engineered
it.

Shapes: K leads of the file, L samples.
"""

import base64
import struct
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport, number
from ecg_records.notes import Note, NoteKind
from ecg_records.readers.clinical.waveform import Waveform, filtered, finite_gain, moment, stacked, years
from ecg_records.record import sex_letter
from ecg_records.signal.leads import LEADS

ROOT = "restingecgdata"
VERSIONS = ("1.03", "1.04", "1.04.01", "1.04.02")
_BITS, _ROOM = 10, (1 << 10) - 1
"""Number of bits of a code, and the code that marks the end."""
_BIAS = 64
_MEASURED = {
    "rate": ("heartrate",),
    "p": ("pdur",),
    "pr": ("print", "meanprint"),
    "qrs": ("qrsdur", "meanqrsdur"),
    "qt": ("qtint", "meanqtint"),
    "qtc": ("qtcb", "meanqtc"),
    "axis": ("qrsfrontaxis",),
}
"""Names of the elements that hold each measurement, in versions 1.04 and 1.03."""
_AGES = ("years", "months", "weeks", "days", "hours")
_GROUPS = ("{*}globalmeasurements/*", "{*}interpretationmeasurements/*")


def waveform(root: Element) -> Waveform:
    """Read a Philips document. Raises `RecordError`."""
    version = _text(root, "documentinfo/documentversion")
    if version not in VERSIONS:
        found = version[:20] or "no version"
        problem = f"the version of Philips XML must be one of {', '.join(VERSIONS)}, got {found}"
        raise RecordError(Reason.signal_format, problem)
    waves, signal = root.find(".//{*}parsedwaveforms"), root.find(".//{*}signalcharacteristics")
    if waves is None or signal is None or not (waves.text or "").strip():
        raise RecordError(Reason.signal_format, "has no waveform: export the ECG with its waveform")
    method = waves.get("compressmethod") or waves.get("compression")
    if method != "XLI" or waves.get("dataencoding") != "Base64":
        what = f"{waves.get('dataencoding')}, {method or 'uncompressed'}"
        problem = f"samples must be compressed with XLI, got {what[:40]}: export the ECG as HL7 aECG"
        raise RecordError(Reason.signal_format, problem)
    names = _lead_names(waves, signal)
    fs = _positive(_text(signal, "samplingrate"), "sampling rate")
    samples = round(_positive(waves.get("durationperchannel") or "", "duration") * fs / 1000)
    step = finite_gain(_text(signal, "resolution") or _text(signal, "signalresolution")) / 1000
    content = base64.b64decode("".join((waves.text or "").split()), validate=True)
    d_KL, notes = _without_mark(_undifferenced(stacked(list(_leads(content, names, samples)))))
    person, taken = root.find(".//{*}generalpatientdata"), root.find(".//{*}dataacquisition")
    person = Element("") if person is None else person
    low, _, high = _text(signal, "signalbandwidth").partition("-")  # version 1.03; 1.04 has two elements
    return Waveform(
        names=names,
        x_KL=d_KL * step,
        fs=fs,
        patient=_text(person, "patientid"),
        born=moment(_text(person, "age/dateofbirth")),
        acquired=None if taken is None else moment(f"{taken.get('date')}T{taken.get('time')}"),
        age=next(
            (age for unit in _AGES if (age := years(_text(person, f"age/{unit}"), unit)) is not None), None
        ),
        sex=sex_letter(_text(person, "sex")),
        notes=(*notes, *filtered(_text(signal, "hipass") or low, _text(signal, "lowpass") or high)),
        machine=_machine(root),
    )


def _machine(root: Element) -> MachineReport:
    """Return the first interpretation's measurements and statements, without statements edited by users."""
    first = root.find(".//{*}interpretation")
    if first is None:
        return MachineReport()
    values = {leaf.tag.rpartition("}")[2]: leaf.text for group in _GROUPS for leaf in first.iterfind(group)}
    measured = {
        name: next((values[tag] for tag in tags if tag in values), None) for name, tags in _MEASURED.items()
    }
    stated = [line for line in first.findall("{*}statement") if line.get("editedflag", "").lower() != "true"]
    return MachineReport.of(measured, [_text(line, "leftstatement") for line in stated])


def _text(element: Element, path: str) -> str:
    return (element.findtext("/".join(f"{{*}}{part}" for part in path.split("/"))) or "").strip()


def _positive(text: str, what: str) -> float:
    value = number(text)
    if not 0 < value < 1e9:
        raise RecordError(Reason.sampling_rate, f"doesn't state a valid {what}")
    return value


def _lead_names(waves: Element, signal: Element) -> list[str]:
    """Return the lead names in order. Version 1.03 may state only that the leads have their usual order."""
    names = (waves.get("leadlabels") or "").split()
    if not names and _text(signal, "acquisitiontype") in {"STD-12", "10-WIRE"}:
        names = list(LEADS)
    if names[:6] != list(LEADS[:6]):
        raise RecordError(
            Reason.missing_lead,
            f"must begin with the leads {' '.join(LEADS[:6])}, got {' '.join(names)[:60] or 'none'}",
        )
    return names


def _leads(content: bytes, names: Sequence[str], samples: int) -> Iterator[NDArray[np.float64]]:
    position = 0
    for name in names:
        size, _, first = struct.unpack_from("<ihh", content, position)
        stream = content[position + 8 : position + 8 + max(size, 0)]
        position += 8 + max(size, 0)
        unpacked = _expanded(stream, 2 * samples)
        if len(unpacked) < 2 * samples:
            problem = f"has {len(unpacked) // 2} of {samples} samples in lead {name}"
            raise RecordError(Reason.truncated, problem)
        high, low = np.frombuffer(unpacked, np.uint8).reshape(2, samples).astype(np.int64)
        yield _summed((high << 8 | low).astype(np.uint16).view(np.int16).astype(np.int64), first)


def _expanded(stream: bytes, most: int) -> bytes:
    """Decompress up to `most` bytes of an LZW stream. Raises `RecordError` for an invalid code."""
    bits = np.unpackbits(np.frombuffer(stream, np.uint8))
    count = len(bits) // _BITS
    codes = bits[: count * _BITS].reshape(count, _BITS) @ (1 << np.arange(_BITS - 1, -1, -1))
    words = [bytes([byte]) for byte in range(256)]
    expanded = bytearray()
    before = b""
    for code in codes.tolist():
        if code == _ROOM or len(expanded) >= most:
            break
        if code > len(words) or (code == len(words) and not before):
            raise RecordError(Reason.unreadable, "is damaged: its samples can't be unpacked")
        word = words[code] if code < len(words) else before + before[:1]
        if before and len(words) < _ROOM:
            words.append(before + word[:1])
        expanded += word
        before = word
    return bytes(expanded[:most])


def _summed(d_L: NDArray[np.int64], first: int) -> NDArray[np.float64]:
    """Restore the samples of a lead from its first two samples and its second differences.

    XLI stores the second differences one position late, and `first` is the first of them.
    """
    bends = np.concatenate([[first], d_L[2:-1] - _BIAS])
    slopes = d_L[1] - d_L[0] - np.concatenate([[0], bends.cumsum()])
    return np.asarray(d_L[0] + np.concatenate([[0], slopes.cumsum()]), np.float64)


def _undifferenced(d_KL: NDArray[np.float64]) -> NDArray[np.float64]:
    """Restore III, aVR, aVL and aVF from their differences. The other leads are stored directly."""
    i, ii, by_iii, by_avr, by_avl, by_avf = d_KL[:6]
    iii = ii - i - by_iii
    avr = -np.floor((i + ii) / 2) - by_avr
    avl = np.floor((i - iii) / 2) - by_avl
    avf = np.floor((ii + iii) / 2) - by_avf
    return np.stack([i, ii, iii, avr, avl, avf, *d_KL[6:]])


def _without_mark(d_KL: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[Note, ...]]:
    """Remove the calibration pulse at the end, which is equal in all leads, unlike a beat."""
    different = np.flatnonzero((d_KL != d_KL[0]).any(axis=0))
    end = int(different[-1]) + 1 if len(different) else d_KL.shape[1]
    if not d_KL[0, end:].any():
        return d_KL, ()
    return d_KL[:, :end], (Note("the calibration mark at the end is left out", NoteKind.unused),)
