"""DICOM waveforms: 12-lead, general and ambulatory ECG (PS3.3, C.10.9).

Of several multiplex groups the one that is original and has most leads is read; a median beat is derived.

Shapes: K leads as found, L samples.
"""

import re
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport
from ecg_records.readers.clinical.waveform import (
    BY_NUMBER,
    Format,
    Waveform,
    filtered,
    finite_gain,
    is_lead,
    lead_name,
    moment,
    per_mv,
    stacked,
)
from ecg_records.record import age_in_years, sex_letter
from ecg_records.stretch import WHOLE, Stretch, refuse_large

PREAMBLE = 128
_MEASURED = {
    "rate": ("2:16016", "heart rate", "ventricular rate", "ventricular heart rate"),
    "p": ("2:16184", "p duration", "p duration, global"),
    "pr": ("2:15872", "pr interval", "pr interval, global", "pr time period, global"),
    "qrs": ("2:16156", "qrs duration", "qrs duration, global"),
    "qt": ("2:16160", "qt interval", "qt interval, global", "qt duration, global"),
    "qtc": ("2:15876", "qtc interval", "qtc interval, global", "qtc global using bazett formula"),
    "axis": ("2:16132", "qrs axis"),
}
"""What a measurement's concept is called: its number in ISO/IEEE 11073-10102, or its meaning."""
UNDEFINED = b"\xff\xff\xff\xff"
"""The size of what ends with an element of its own."""
META_END, PIXELS = 0x00030000, 0x7FE00010
"""Tags: the first behind the file's meta information, and the picture."""
ITEM, MOST_ITEMS = b"\xfe\xff\x00\xe0", 10_000
"""The tag of what a sequence holds, and of how many; each costs a thousand times its eight bytes."""
MOST_ELEMENTS = 200_000
"""In one another or side by side. For so many pydicom takes a second; a file of 64 MB can hold 8 million."""
LONG_HEADS = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())
"""The kinds of element whose size stands in four bytes, behind two that mean nothing."""
SHORT_HEADS = frozenset(b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split())
"""Those whose size stands in two; elsewhere, as in an implicit syntax, it fills the place of both."""
_CODE = re.compile(r"(?:5\.6\.3-9-|2:)(\d+)")


def waveform(file: Path, stretch: Stretch = WHOLE) -> Waveform:
    """Read the whole waveform of a DICOM file. Raises `RecordError`, or what pydicom raises."""
    refuse_large(file)
    content = file.read_bytes()
    if content.count(ITEM) > MOST_ITEMS:
        raise RecordError(Reason.too_long, f"has more than {MOST_ITEMS:,} items")
    _refuse_many(content)
    data = _elements(content)
    if "WaveformSequence" not in data:
        document = "MIMETypeOfEncapsulatedDocument" in data
        what = "a picture and " if "Rows" in data else "a document and " if document else ""
        raise RecordError(Reason.signal_format, f"holds {what}no waveform")
    groups = list(data.WaveformSequence)
    original = [group for group in groups if group.get("WaveformOriginality", "ORIGINAL") == "ORIGINAL"]
    if not original:
        raise RecordError(Reason.signal_format, "holds derived waveforms only, such as a median beat")
    group = max(original, key=lambda item: sum(map(is_lead, _leads(item))))
    notes = ("several recordings in one file: the first with most leads",) if len(original) > 1 else ()
    names = _leads(group)
    rows = [place for place, name in enumerate(names) if is_lead(name)]
    age = str(data.get("PatientAge") or "")
    first = group.ChannelDefinitionSequence[rows[0]] if rows else {}
    cut = (first.get(f"{what}Frequency") for what in ("FilterLow", "FilterHigh", "NotchFilter"))
    return Waveform(
        names=[names[place] for place in rows],
        x_KL=_millivolts(group, rows),
        fs=float(group.SamplingFrequency),
        patient=str(data.get("PatientID") or ""),
        born=moment(str(data.get("PatientBirthDate") or "")),
        acquired=moment(_acquired(data)),
        age=age_in_years(age[:-1]) if age.endswith("Y") else None,
        sex=sex_letter(str(data.get("PatientSex") or "")),
        notes=(*notes, *filtered(*cut)),
        device=str(data.get("ManufacturerModelName") or ""),
        machine=_machine(data),
    )


def _machine(data: Any) -> MachineReport:
    """Return the machine's report from the waveform's annotations: texts, and numbers with a concept."""
    values: dict[str, Any] = {}
    stated = []
    for annotation in data.get("WaveformAnnotationSequence") or ():
        if annotation.get("UnformattedTextValue"):
            stated.append(str(annotation.UnformattedTextValue))
        [concept] = list(annotation.get("ConceptNameCodeSequence") or [{}])[:1]
        for what in ("CodeMeaning", "CodeValue"):
            values.setdefault(str(concept.get(what, "")).lower(), annotation.get("NumericValue"))
    names = {
        name: next((called for called in several if values.get(called) is not None), "")
        for name, several in _MEASURED.items()
    }
    measured = {name: values.get(called) for name, called in names.items()}
    return MachineReport.of(measured | {"rr": values.get("rr interval")}, stated)


def _refuse_many(content: bytes) -> None:
    """See that a file has no more elements than are parsed at once, by a walk over their heads alone.

    It enters whatever begins as an item does, whether it is called a sequence or not. Raises `RecordError`.
    """
    place = PREAMBLE + 4
    for _ in range(MOST_ELEMENTS):
        if place >= len(content):
            return
        tag, kind = content[place : place + 4], content[place + 4 : place + 6]
        if kind in LONG_HEADS:
            head, size = 12, content[place + 8 : place + 12]
        else:
            head, size = 8, content[place + 6 if kind in SHORT_HEADS else place + 4 : place + 8]
        place += head
        entered = tag[:2] == ITEM[:2] or content[place : place + 4] == ITEM or size == UNDEFINED
        place += 0 if entered else int.from_bytes(size, "little")
    raise RecordError(Reason.too_long, f"has more than {MOST_ELEMENTS:,} elements")


def _elements(content: bytes) -> Any:
    """Read the elements before any pixels. Raises `RecordError`, or what pydicom raises."""
    from pydicom.filereader import read_dataset  # noqa: PLC0415 — of an extra, and slow to load
    from pydicom.uid import UID, ImplicitVRLittleEndian  # noqa: PLC0415 — as above

    stream = BytesIO(content)
    stream.seek(PREAMBLE + 4)
    meta = read_dataset(stream, False, True, stop_when=_ascending_below(META_END))
    syntax = UID(meta.get("TransferSyntaxUID", ImplicitVRLittleEndian))
    if syntax.is_deflated:  # a small file could unpack to a large one
        raise RecordError(Reason.signal_format, "is deflated: convert it to Explicit VR Little Endian")
    if not syntax.is_little_endian:
        raise RecordError(Reason.signal_format, "is big-endian: convert it to Explicit VR Little Endian")
    return read_dataset(stream, syntax == ImplicitVRLittleEndian, True, stop_when=_ascending_below(PIXELS))


def _ascending_below(end: int) -> Callable[[Any, Any, int], bool]:
    """Return a function that stops at a tag, and refuses tags that don't ascend, as in a file of zeros."""
    last = -1

    def stop(tag: Any, _kind: Any, _size: int) -> bool:
        nonlocal last
        if tag <= last:
            raise ValueError("has elements out of order")
        last = tag
        return bool(tag >= end)

    return stop


def _acquired(data: Any) -> str:
    """Date and time in one element, or in two of content or study."""
    if data.get("AcquisitionDateTime"):
        return str(data.AcquisitionDateTime)
    for what in ("Acquisition", "Content", "Study"):
        if data.get(f"{what}Date"):
            return f"{data[f'{what}Date'].value}{data.get(f'{what}Time') or ''}"
    return ""


def _leads(group: Any) -> list[str]:
    return list(map(_lead, group.ChannelDefinitionSequence))


def _lead(channel: Any) -> str:
    """A channel's lead by its code, by what the code means, or by the channel's label."""
    sources = channel.get("ChannelSourceSequence") or [{}]
    code = _CODE.fullmatch(str(sources[0].get("CodeValue", "")))
    if code and int(code[1]) in BY_NUMBER:
        return BY_NUMBER[int(code[1])]
    texts = [str(sources[0].get(what, "")) for what in ("CodeValue", "CodeMeaning")]
    texts.append(str(channel.get("ChannelLabel", "")))
    return next((lead_name(text) for text in texts if is_lead(text)), "")


def _millivolts(group: Any, places: Sequence[int]) -> NDArray[np.float64]:
    from pydicom.waveforms.numpy_handler import WAVEFORM_DTYPES  # noqa: PLC0415 — as above

    kind = (int(group.WaveformBitsAllocated), str(group.WaveformSampleInterpretation))
    if kind not in WAVEFORM_DTYPES:
        raise RecordError(Reason.signal_format, f"has samples of the kind {kind[0]}-bit {kind[1]}")
    dtype: np.dtype[Any] = np.dtype(WAVEFORM_DTYPES[kind])
    channels, samples = int(group.NumberOfWaveformChannels), int(group.NumberOfWaveformSamples)
    if channels != len(group.ChannelDefinitionSequence):
        problem = f"has {channels} channels and describes {len(group.ChannelDefinitionSequence)}"
        raise RecordError(Reason.header, problem)
    content = bytes(group.WaveformData)
    available = len(content) // (channels * dtype.itemsize) if channels else 0
    if available < samples:
        raise RecordError(Reason.truncated, f"has {available} of {samples} samples")
    d_LK = np.frombuffer(content, dtype, channels * samples).reshape(samples, channels)
    padding = group.get("WaveformPaddingValue")
    filler = np.frombuffer(padding, dtype, 1)[0] if isinstance(padding, bytes) and padding else None
    rows = []
    for place in places:
        channel = group.ChannelDefinitionSequence[place]
        units = channel.get("ChannelSensitivityUnitsSequence") or [{}]
        step = finite_gain(channel.get("ChannelSensitivity"))
        step *= finite_gain(channel.get("ChannelSensitivityCorrectionFactor", 1))
        x_L = d_LK[:, place] * step + float(channel.get("ChannelBaseline") or 0)
        if filler is not None:
            x_L[d_LK[:, place] == filler] = np.nan
        rows.append(x_L / per_mv(str(units[0].get("CodeValue", ""))))
    return stacked(rows)


DICOM = Format("DICOM", ("*.dcm", "*.dicom"), waveform, (PREAMBLE, b"DICM"))
