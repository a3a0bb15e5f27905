"""Read SCP-ECG files (EN 1064, ANSI/AAMI EC71): a table of pointers, then sections, with a stream per lead.

The signals of the leads (section 6, the rhythm) are stored as plain numbers or in the default Huffman code.
The stored numbers are samples or differences of samples. Files with other Huffman tables, two sampling rates
or a reference beat are rejected.

Shapes: K leads of the file, L samples.
"""

import binascii
import datetime
import re
import struct
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecg_records.errors import Reason, RecordError
from ecg_records.machine import MachineReport
from ecg_records.readers.clinical.waveform import BY_NUMBER, Format, Waveform, filtered, stacked, years
from ecg_records.signal.leads import is_lead
from ecg_records.stretch import WHOLE, Stretch, refuse_large

_CONVERT = "convert it to DICOM or HL7 aECG"
_HEAD, _POINTER = 16, 10
"""Number of bytes before the content of a section, and number of bytes of a pointer."""
_NAMES, _CODES, _LEADS, _RHYTHM, _MEASURED, _STATED = 1, 2, 3, 6, 7, 8
"""Sections that are read: patient and recording, Huffman tables, leads, rhythm, measurements, report."""
_UNKNOWN = 19999
"""Times of this value or more are missing or were not measured."""
_DEFAULT = 19999
"""Number of Huffman tables in the file if it uses the default table."""
_WORDS = re.compile(rb"0|1{1,8}0[01]|1{9}0[01]{8}|1{10}[01]{16}|[01]+")
"""Words of the default Huffman code: zero, ±1 to ±8 by the number of ones, and numbers of 8 or 16 bits. The
last alternative matches left-over bits."""
_LONGEST = 26
_AGE_UNITS = {1: "years", 2: "months", 3: "weeks", 4: "days", 5: "hours"}
_NUMBER, _AGE, _BORN, _SEX, _DAY, _TIME, _LOW, _HIGH, _END = 2, 4, 5, 8, 25, 26, 27, 28, 255
"""Tags of section 1 that are read. Names of patients are ignored."""


class _Lead(NamedTuple):
    name: str
    first: int
    samples: int


def waveform(file: Path, stretch: Stretch = WHOLE) -> Waveform:
    """Read the complete SCP-ECG file, whatever the stretch.

    Raises `RecordError`, or `struct.error` or `ValueError` if the file is damaged.
    """
    refuse_large(file)
    content = file.read_bytes()
    checksum, length = struct.unpack_from("<HI", content)
    if length > len(content):
        raise RecordError(Reason.truncated, f"has {len(content):,} of {length:,} bytes")
    if binascii.crc_hqx(content[2:length], 0xFFFF) != checksum:
        raise RecordError(Reason.unreadable, "is damaged: its checksum differs")
    sections = _sections(content[:length])
    if _RHYTHM not in sections or _LEADS not in sections:
        raise RecordError(Reason.signal_format, "has no rhythm waveform: export the ECG with its waveform")
    leads = _leads(sections[_LEADS])
    x_KL, fs = _millivolts(sections[_RHYTHM], leads, sections.get(_CODES))
    return Waveform(
        names=[lead.name for lead in leads if is_lead(lead.name)],
        x_KL=x_KL,
        fs=fs,
        unused=tuple(lead.name for lead in leads if not is_lead(lead.name)),
        machine=_machine(sections.get(_MEASURED, b""), sections.get(_STATED, b"")),
        **_patient(sections.get(_NAMES, b"")),
    )


def _machine(measured: bytes, report: bytes) -> MachineReport:
    """Return the report of the device: measurements of the first reference beat, and statements."""
    values: dict[str, object] = {}
    if len(measured) >= 22:
        rr, _, p_on, p_off, qrs_on, qrs_off, t_off = struct.unpack_from("<7H", measured, 2)
        ends = {"p": (p_on, p_off), "pr": (p_on, qrs_on), "qrs": (qrs_on, qrs_off), "qt": (qrs_on, t_off)}
        values = {name: end - start for name, (start, end) in ends.items() if max(start, end) < _UNKNOWN}
        values |= {"rr": rr, "axis": struct.unpack_from("<h", measured, 18)[0]}
    texts: list[str] = []
    position = 9
    while position + 3 <= len(report) and len(texts) < report[8]:
        _, size = struct.unpack_from("<BH", report, position)
        texts.append(report[position + 3 : position + 3 + size].split(b"\0")[0].decode("latin-1"))
        position += 3 + size
    return MachineReport.of(values, texts)


def _sections(content: bytes) -> dict[int, bytes]:
    """Return the content of each section by number."""
    sections = {}
    _, _, length = struct.unpack_from("<HHI", content, 6)
    for position in range(6 + _HEAD, 6 + length - _POINTER + 1, _POINTER):
        number, size, index = struct.unpack_from("<HII", content, position)
        if size > _HEAD:
            if index < 1 or index - 1 + size > len(content):
                raise RecordError(Reason.truncated, f"section {number} extends beyond the end of the file")
            sections[number] = content[index - 1 + _HEAD : index - 1 + size]
    return sections


def _leads(section: bytes) -> list[_Lead]:
    """Return the leads in order. Files number the first sample of a lead 0 or 1, and both are accepted."""
    count, flags = section[0], section[1]
    if flags & 1:
        raise RecordError(Reason.signal_format, f"is compressed against a reference beat: {_CONVERT}")
    rows = [struct.unpack_from("<IIB", section, 2 + 9 * row) for row in range(count)]
    if len({first for first, _, number in rows if number in BY_NUMBER}) > 1:
        raise RecordError(Reason.shape, "leads must begin at the same time")
    return [
        _Lead(BY_NUMBER.get(number, f"SCP lead {number}"), first, last - max(first, 1) + 1)
        for first, last, number in rows
    ]


def _millivolts(section: bytes, leads: list[_Lead], codes: bytes | None) -> tuple[NDArray[np.float64], float]:
    """Return the samples of each lead in mV, and the sampling rate."""
    nanovolts, microseconds, differences, bimodal = struct.unpack_from("<HHBB", section)
    if bimodal:
        raise RecordError(Reason.signal_format, f"is compressed with two sampling rates: {_CONVERT}")
    if codes is not None and struct.unpack_from("<H", codes)[0] != _DEFAULT:
        raise RecordError(Reason.signal_format, f"is compressed with its own Huffman tables: {_CONVERT}")
    if not nanovolts:
        raise RecordError(Reason.gain, "doesn't state the gain of its samples")
    if not microseconds:
        raise RecordError(Reason.sampling_rate, "doesn't state the time between two samples")
    sizes = struct.unpack_from(f"<{len(leads)}H", section, 6)
    ends = np.cumsum([6 + 2 * len(leads), *sizes]).tolist()
    rows = []
    for lead, (begin, end) in zip(leads, pairwise(ends), strict=True):
        if not is_lead(lead.name):
            continue
        stream = section[begin:end]
        plain = codes is None
        d_L = np.frombuffer(stream, "<i2", len(stream) // 2) if plain else _words(stream, lead.samples)
        if len(d_L) < lead.samples:
            problem = f"has {len(d_L)} of {lead.samples} samples in lead {lead.name}"
            raise RecordError(Reason.truncated, problem)
        rows.append(summed(d_L[: lead.samples].astype(np.int64), differences) * (nanovolts * 1e-6))
    return stacked(rows), round(1e6 / microseconds, 6)


def _words(stream: bytes, most: int) -> NDArray[np.int64]:
    """Decode at most `most` values of a stream, because the padding of its last byte may look like values."""
    bits = (np.unpackbits(np.frombuffer(stream, np.uint8)) + ord("0")).tobytes()
    words = _WORDS.findall(bits)[:most]
    if words and not _is_complete(words[-1]):
        words.pop()
    return np.array(list(map(_value, words)), np.int64)


def _is_complete(word: bytes) -> bool:
    """Return whether a word of the Huffman code is complete, not cut off by the end of the stream."""
    ones = len(word) - len(word.lstrip(b"1"))
    return len(word) == (_LONGEST if ones > 9 else (18 if ones == 9 else ones + 2 if ones else 1))


@lru_cache(maxsize=1 << 17)
def _value(word: bytes) -> int:
    ones = len(word) - len(word.lstrip(b"1"))
    if ones < 9:
        return -ones if word[-1:] == b"1" else ones
    plain = word[10:]
    return int(plain, 2) - (1 << len(plain) if plain[:1] == b"1" else 0)


def summed(d_L: NDArray[np.int64], differences: int) -> NDArray[np.int64]:
    """Restore samples that are stored as values (0), first differences (1) or second differences (2).

    Example:
        >>> summed(np.array([5, 1, 1]), 1).tolist(), summed(np.array([5, 6, 1]), 2).tolist()
        ([5, 6, 7], [5, 6, 8])
    """
    if differences == 2 and len(d_L) > 1:
        steps = np.concatenate([[d_L[1] - d_L[0]], d_L[2:]]).cumsum()
        return np.asarray(np.concatenate([d_L[:1], steps]).cumsum(), np.int64)
    return np.asarray(d_L.cumsum(), np.int64) if differences == 1 else d_L


def _patient(section: bytes) -> dict[str, Any]:
    tags: dict[int, bytes] = {}
    position = 0
    while position + 3 <= len(section):
        tag, size = struct.unpack_from("<BH", section, position)
        if tag == _END:
            break
        tags.setdefault(tag, section[position + 3 : position + 3 + size])
        position += 3 + size
    day, time = _day(tags, _DAY), tags.get(_TIME, b"")[:3]
    count, unit = struct.unpack("<HB", tags[_AGE]) if len(tags.get(_AGE, b"")) == 3 else (0, 0)
    when = None
    if day and len(time) == 3 and time < b"\x18":
        when = f"{day}T{time[0]:02}:{time[1] % 60:02}:{time[2] % 60:02}"
    return {
        "patient": tags.get(_NUMBER, b"").split(b"\0")[0].decode("latin-1"),
        "sex": {b"\1": "M", b"\2": "F"}.get(tags.get(_SEX, b"")[:1]),
        "age": years(count, _AGE_UNITS.get(unit, "")) if count else None,
        "born": _day(tags, _BORN),
        "acquired": when or day,
        "notes": filtered(_integer(tags, _LOW) / 100, _integer(tags, _HIGH)),
    }


def _integer(tags: Mapping[int, bytes], tag: int) -> int:
    """Return the two-byte number of a tag, or 0 if the tag is missing."""
    return int.from_bytes(tags[tag], "little") if len(tags.get(tag, b"")) == 2 else 0


def _day(tags: Mapping[int, bytes], tag: int) -> str | None:
    try:
        return datetime.date(*struct.unpack("<HBB", tags[tag])).isoformat()
    except (KeyError, ValueError, struct.error):
        return None


SCP = Format("SCP-ECG", ("*.scp",), waveform, (16, b"SCPECG"))
