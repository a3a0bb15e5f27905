"""Read DICOM waveforms: 12-lead, general and ambulatory ECG (PS3.3, C.10.9).

Leads that were sampled together form a multiplex group. Several groups are joined by their time offsets
(`groups.joined`). Derived groups, such as a median beat, are ignored.

Shapes: K leads of the file, L samples.
"""

import math
import re
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport
from ecg_records.notes import Note, NoteKind
from ecg_records.readers.clinical.groups import Group, joined
from ecg_records.readers.clinical.waveform import (
    BY_NUMBER,
    Format,
    Waveform,
    filtered,
    finite_gain,
    flagged,
    moment,
    per_mv,
    silenced,
    stacked,
    years,
)
from ecg_records.record import sex_letter
from ecg_records.signal.leads import is_lead, lead_name
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
"""Codes (ISO/IEEE 11073-10102) and code meanings of each measurement."""
UNDEFINED = b"\xff\xff\xff\xff"
"""Size in the header of an element of undefined length, which ends with a delimiter element."""
META_END, PIXELS = 0x00030000, 0x7FE00010
"""Tags at which parsing stops: the end of the file's meta information, and the pixel data."""
ITEM, MOST_ITEMS = b"\xfe\xff\x00\xe0", 10_000
"""Tag of items, and maximum number of items in a file. An item may have only eight bytes but is slow to
parse."""
MOST_ELEMENTS = 200_000
"""Maximum number of elements in a file, nested or not. pydicom parses this number in a second. A file of 64
MB could have 8 million."""
LONG_HEADS = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())
"""Value representations whose size field has four bytes, after two reserved bytes."""
SHORT_HEADS = frozenset(b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split())
"""Value representations whose size field has two bytes. In implicit syntax, the size field has four bytes."""
PADDING_RUN = 10
"""Minimum number of consecutive samples with the padding value in all channels that count as missing."""
QUESTIONABLE = "QUESTIONABLE"
"""Status of channels that are read although they are flagged."""
_AGE = re.compile(r"(\d{1,3})([DWMY])")
_CODE = re.compile(r"(?:5\.6\.3-9-|2:)(\d+)")


def waveform(file: Path, stretch: Stretch = WHOLE) -> Waveform:
    """Read the complete DICOM file, whatever the stretch. Raises `RecordError`, or any error of pydicom."""
    refuse_large(file)
    content = file.read_bytes()
    items = content.count(ITEM)
    if items > MOST_ITEMS:
        raise RecordError(Reason.too_long, f"must have at most {MOST_ITEMS:,} items, got {items:,}")
    _refuse_many(content)
    data = _elements(content)
    if "WaveformSequence" not in data:
        document = "MIMETypeOfEncapsulatedDocument" in data
        instead = ", only a picture" if "Rows" in data else ", only a document" if document else ""
        raise RecordError(Reason.signal_format, f"has no waveform{instead}")
    groups = list(data.WaveformSequence)
    is_original = [group.get("WaveformOriginality", "ORIGINAL") == "ORIGINAL" for group in groups]
    original = [group for group, own in zip(groups, is_original, strict=True) if own]
    if not original:
        raise RecordError(Reason.signal_format, "has derived waveforms only, such as a median beat")
    derived = [
        str(group.get("MultiplexGroupLabel") or "a derived waveform")
        for group, own in zip(groups, is_original, strict=True)
        if not own
    ]
    names, x_KL, fs, notes = joined(list(map(_group, original)))
    found = [(channel, lead) for group in original for channel, lead in _channels(group)]
    marked = {lead: status for channel, lead in found if (status := _status(channel)) and lead}
    marked = {lead: status for lead, status in marked.items() if lead in names}
    off = [lead for lead, status in marked.items() if status != QUESTIONABLE]
    shift = _largest_shift(original)
    if shift:
        text = f"channels shifted by their skew, up to {1000 * shift:.3g} ms"
        notes = (*notes, Note(text, NoteKind.timing))
    age = _AGE.fullmatch(str(data.get("PatientAge") or "").strip())
    first: Any = next((channel for channel, lead in found if lead), {})
    cut = (first.get(f"{what}Frequency") for what in ("FilterLow", "FilterHigh", "NotchFilter"))
    return Waveform(
        names=names,
        x_KL=silenced(names, x_KL, off),
        fs=fs,
        patient=str(data.get("PatientID") or ""),
        born=moment(str(data.get("PatientBirthDate") or "")),
        acquired=moment(_acquired(data)),
        age=years(age[1], age[2]) if age else None,
        sex=sex_letter(str(data.get("PatientSex") or "")),
        notes=(*notes, *flagged(marked), *filtered(*cut)),
        unused=tuple(dict.fromkeys([*(_called(channel) for channel, lead in found if not lead), *derived])),
        device=str(data.get("ManufacturerModelName") or ""),
        machine=_machine(data),
    )


def _machine(data: Any) -> MachineReport:
    """Return the report of the device, from texts and coded numbers in the waveform's annotations."""
    values: dict[str, Any] = {}
    stated = []
    for annotation in data.get("WaveformAnnotationSequence") or ():
        if annotation.get("UnformattedTextValue"):
            stated.append(str(annotation.UnformattedTextValue))
        [concept] = list(annotation.get("ConceptNameCodeSequence") or [{}])[:1]
        for what in ("CodeMeaning", "CodeValue"):
            values.setdefault(str(concept.get(what, "")).lower(), annotation.get("NumericValue"))
    names = {
        name: next((concept for concept in concepts if values.get(concept) is not None), "")
        for name, concepts in _MEASURED.items()
    }
    measured = {name: values.get(concept) for name, concept in names.items()}
    return MachineReport.of(measured | {"rr": values.get("rr interval")}, stated)


def _refuse_many(content: bytes) -> None:
    """Raise `RecordError` if a file has more than `MOST_ELEMENTS` elements. Only element headers are read.

    Any value that starts with the tag of a sequence item is searched for elements, even if the value isn't
    declared as a sequence.
    """
    position = PREAMBLE + 4
    for _ in range(MOST_ELEMENTS):
        if position >= len(content):
            return
        tag, representation = content[position : position + 4], content[position + 4 : position + 6]
        if representation in LONG_HEADS:
            head, size = 12, content[position + 8 : position + 12]
        else:
            start = position + (6 if representation in SHORT_HEADS else 4)
            head, size = 8, content[start : position + 8]
        position += head
        entered = tag[:2] == ITEM[:2] or content[position : position + 4] == ITEM or size == UNDEFINED
        position += 0 if entered else int.from_bytes(size, "little")
    raise RecordError(Reason.too_long, f"must have at most {MOST_ELEMENTS:,} elements, got more")


def _elements(content: bytes) -> Any:
    """Parse the elements before the pixel data. Raises `RecordError`, or any error of pydicom."""
    from pydicom.filereader import read_dataset  # noqa: PLC0415 — optional, and slow to import
    from pydicom.uid import UID, ImplicitVRLittleEndian  # noqa: PLC0415 — optional

    stream = BytesIO(content)
    stream.seek(PREAMBLE + 4)
    meta = read_dataset(stream, False, True, stop_when=_ascending_below(META_END))
    syntax = UID(meta.get("TransferSyntaxUID", ImplicitVRLittleEndian))
    if syntax.is_deflated:  # a small file could inflate to gigabytes
        raise RecordError(Reason.signal_format, "is deflated: convert it to Explicit VR Little Endian")
    if not syntax.is_little_endian:
        raise RecordError(Reason.signal_format, "is big-endian: convert it to Explicit VR Little Endian")
    return read_dataset(stream, syntax == ImplicitVRLittleEndian, True, stop_when=_ascending_below(PIXELS))


def _ascending_below(end: int) -> Callable[[Any, Any, int], bool]:
    """Return a callback for pydicom that stops at the tag `end` and rejects descending tags.

    Descending tags occur in damaged files, for example if the rest of a file is zero.
    """
    last = -1

    def stop(tag: Any, _kind: Any, _size: int) -> bool:
        nonlocal last
        if tag <= last:
            raise ValueError("has elements out of order")
        last = tag
        return bool(tag >= end)

    return stop


def _acquired(data: Any) -> str:
    """Return the date and time of the acquisition, or else of the content or the study."""
    if data.get("AcquisitionDateTime"):
        return str(data.AcquisitionDateTime)
    for what in ("Acquisition", "Content", "Study"):
        if data.get(f"{what}Date"):
            return f"{data[f'{what}Date'].value}{data.get(f'{what}Time') or ''}"
    return ""


def _channels(group: Any) -> list[tuple[Any, str]]:
    """Return the channels of a group, each with the name of its lead, or "" if it isn't a lead."""
    return [(channel, _lead(channel)) for channel in group.ChannelDefinitionSequence]


def _called(channel: Any) -> str:
    """Return the name of a channel for a note on unused signals."""
    [source] = list(channel.get("ChannelSourceSequence") or [{}])[:1]
    names = (channel.get("ChannelLabel"), source.get("CodeMeaning"), source.get("CodeValue"))
    return next((str(name) for name in names if name), "")


def _status(channel: Any) -> str:
    """Return the first status flag of a channel that isn't "OK", or ""."""
    status = channel.get("ChannelStatus") or ()
    flags = [status] if isinstance(status, str) else list(status)
    return next((flag for flag in map(str, flags) if flag.strip().upper() not in ("", "OK")), "")


def _shift(channel: Any, fs: float) -> float:
    """Return the number of samples by which a channel starts later than its group."""
    skew = float(channel.get("ChannelSampleSkew") or 0)
    skew = skew or float(channel.get("ChannelTimeSkew") or 0) * fs
    return skew + float(channel.get("ChannelOffset") or 0) * fs


def _shifts(group: Any) -> list[int]:
    """Return the shift of each lead in whole samples."""
    fs = float(group.SamplingFrequency)
    return [round(_shift(channel, fs)) for channel, lead in _channels(group) if lead]


def _largest_shift(groups: Sequence[Any]) -> float:
    """Return the largest shift between two leads of a group, in seconds."""
    spans = [
        (max(shifts) - min(shifts)) / float(group.SamplingFrequency)
        for group in groups
        if (shifts := _shifts(group))
    ]
    return max(spans, default=0)


def _group(group: Any) -> Group:
    """Return the leads of a multiplex group. Their samples are decoded on demand."""
    places = [row for row, (_, lead) in enumerate(_channels(group)) if lead]
    shifts, fs = _shifts(group), float(group.SamplingFrequency)
    offset = group.get("MultiplexGroupTimeOffset")
    span = max(shifts, default=0) - min(shifts, default=0)
    if not 0 < fs < math.inf:
        raise RecordError(Reason.sampling_rate, f"the sampling rate must be above 0 Hz, got {fs:g} Hz")
    start = None if offset in (None, "") else float(offset) / 1000
    return Group(
        names=[lead for _, lead in _channels(group) if lead],
        samples=max(0, int(group.NumberOfWaveformSamples) - span),
        fs=fs,
        read=lambda: _aligned(_millivolts(group, places), shifts),
        start=None if start is None else start + max(shifts, default=0) / fs,
        label=str(group.get("MultiplexGroupLabel") or ""),
    )


def _aligned(x_KL: NDArray[np.float64], shifts: Sequence[int]) -> NDArray[np.float64]:
    """Shift channels that were sampled one after the other, and cut them to their common time.

    Example:
        >>> _aligned(np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), [0, 1])
        array([[1, 2, 3],
               [1, 2, 3]])
    """
    last, length = max(shifts), x_KL.shape[1] - (max(shifts) - min(shifts))
    if length <= 0:
        raise RecordError(Reason.truncated, "its channels have no common time after their skew is corrected")
    return np.stack(
        [x_L[last - shift : last - shift + length] for x_L, shift in zip(x_KL, shifts, strict=True)]
    )


def _lead(channel: Any) -> str:
    """Return the lead of a channel, or "". The code is tried first, then its meaning, then the label."""
    sources = channel.get("ChannelSourceSequence") or [{}]
    code = _CODE.fullmatch(str(sources[0].get("CodeValue", "")))
    if code and int(code[1]) in BY_NUMBER:
        return BY_NUMBER[int(code[1])]
    texts = [str(sources[0].get(what, "")) for what in ("CodeValue", "CodeMeaning")]
    texts.append(str(channel.get("ChannelLabel", "")))
    return next((lead_name(text) for text in texts if is_lead(text)), "")


def _millivolts(group: Any, places: Sequence[int]) -> NDArray[np.float64]:
    from pydicom.waveforms.numpy_handler import WAVEFORM_DTYPES  # noqa: PLC0415 — optional

    sample_type = (int(group.WaveformBitsAllocated), str(group.WaveformSampleInterpretation))
    if sample_type not in WAVEFORM_DTYPES:
        raise RecordError(
            Reason.signal_format,
            f"has {sample_type[0]}-bit samples of type {sample_type[1]}, which isn't supported",
        )
    dtype: np.dtype[Any] = np.dtype(WAVEFORM_DTYPES[sample_type])
    channels, samples = int(group.NumberOfWaveformChannels), int(group.NumberOfWaveformSamples)
    if channels != len(group.ChannelDefinitionSequence):
        problem = (
            f"must describe its {channels} channels, got {len(group.ChannelDefinitionSequence)} descriptions"
        )
        raise RecordError(Reason.header, problem)
    content = bytes(group.WaveformData)
    available = len(content) // (channels * dtype.itemsize) if channels else 0
    if available < samples:
        raise RecordError(Reason.truncated, f"has {available} of {samples} samples")
    d_LK = np.frombuffer(content, dtype, channels * samples).reshape(samples, channels)
    missing_LK = _padding(d_LK, group.get("WaveformPaddingValue"))
    rows = []
    for column in places:
        channel = group.ChannelDefinitionSequence[column]
        units = channel.get("ChannelSensitivityUnitsSequence") or [{}]
        step = finite_gain(channel.get("ChannelSensitivity"))
        step *= finite_gain(channel.get("ChannelSensitivityCorrectionFactor", 1))
        x_L = d_LK[:, column] * step + float(channel.get("ChannelBaseline") or 0)
        if missing_LK is not None:
            x_L[missing_LK[:, column]] = np.nan
        rows.append(x_L / per_mv(str(units[0].get("CodeValue", ""))))
    return stacked(rows)


def _padding(d_LK: NDArray[Any], padding: object) -> NDArray[np.bool_] | None:
    """Return a mask of the missing samples, or None if the file has no padding value.

    If the padding value is the minimum or maximum of its type, each sample with this value is missing.
    Another padding value, such as 0, may also be a regular sample. It marks missing samples only if all
    channels have it for `PADDING_RUN` samples in a row.
    """
    if not isinstance(padding, bytes) or len(padding) < d_LK.dtype.itemsize:
        return None
    filler = np.frombuffer(padding, d_LK.dtype, 1)[0]
    filled_LK: NDArray[np.bool_] = d_LK == filler
    if d_LK.dtype.kind in "iu" and filler in (np.iinfo(d_LK.dtype).min or -1, np.iinfo(d_LK.dtype).max):
        return filled_LK
    all_L = np.concatenate([[False], filled_LK.all(axis=1), [False]])
    edges = np.flatnonzero(np.diff(all_L.astype(np.int8)))
    missing_LK = np.zeros_like(filled_LK)
    for begin, end in edges.reshape(-1, 2).tolist():
        if end - begin >= PADDING_RUN:
            missing_LK[begin:end] = True
    return missing_LK


DICOM = Format("DICOM", ("*.dcm", "*.dicom"), waveform, (PREAMBLE, b"DICM"))
