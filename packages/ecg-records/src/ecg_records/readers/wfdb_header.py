"""Parse WFDB headers in all their variants, without changing the files.

The parser reads the variants in the PhysioNet/CinC Challenges 2020/2021, PTB and PTB-XL: dates before times,
record names with an ending, `mV` and `mv`, CRLF, comments with and without a blank. A missing or zero gain is
an error, because WFDB's default of 200 units per mV would silently rescale the signal.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ecg_records.dx import header_comments
from ecg_records.errors import Reason, RecordError, located
from ecg_records.machine import number
from ecg_records.record import inside
from ecg_records.signal.leads import is_lead
from ecg_records.signal.samples import FASTEST, SLOWEST, unit_in_volts

HEADER_BYTES = 1 << 20
"""Maximum size of a header in bytes. Headers have a few hundred bytes, so a longer file isn't a header."""
MOST_SIGNALS = 64
MOST_DIGITS = 18
"""Maximum number of digits of an integer, which fits in 64 bits. Damaged headers have thousands of digits."""

# Possessive quantifiers (`++`) don't backtrack, so a million digits take a millisecond.
_RECORD = re.compile(r"(?P<name>\S++)\s++(?P<signals>\d++)(\s++(?P<fs>[\d.]++)\S*+(\s++(?P<length>\d++))?)?")
_FORMAT = re.compile(r"(?P<format>\d++)(x(?P<per_frame>\d++))?(:(?P<skew>\d++))?(\+(?P<offset>\d++))?")
_GAIN = re.compile(
    r"(?P<gain>[-+]?(\d++(\.\d*+)?|\.\d++)(e[-+]?\d++)?)(\((?P<baseline>-?\d++)\))?(/(?P<units>\S++))?", re.I
)
_INTEGER = re.compile(r"-?\d{1,9}")
_SEGMENTS = re.compile(r"[^/]++/\d++")


class Channel(NamedTuple):
    """Signal line of a header.

    Attributes:
        name: Name of the signal.
        file: Signal file.
        format: Number of the WFDB format.
        offset: Bytes before the first sample.
        per_mv: Units per millivolt, NaN if the signal isn't a lead.
        baseline: Sample value at 0 mV.
        checksum: Sum of all samples modulo 2¹⁶, or None.
        per_frame: Number of samples in a frame.
    """

    name: str
    file: str
    format: int
    offset: int
    per_mv: float
    baseline: int
    checksum: int | None
    per_frame: int = 1


@dataclass(frozen=True)
class WfdbHeader:
    """Parsed header. `length` is in samples, or None if it isn't stated. `comments` have lower-case keys."""

    path: Path
    fs: float
    length: int | None
    channels: tuple[Channel, ...]
    comments: dict[str, str]


def read_header(path: Path, root: Path) -> WfdbHeader:
    """Read and parse a header file. The file must lie below `root` after links are resolved.

    Raises `RecordError` with the reason `path`, `unreadable`, `header`, `multi-segment`, `sampling-rate`,
    `format`, `gain` or `units`.
    """
    with located(path):
        if not inside(path, root):
            raise RecordError(Reason.path, "is a link to a header outside the source folder")
        if path.exists() and not path.is_file():
            raise RecordError(
                Reason.unreadable, "the header must be a regular file, got a pipe, a device or a folder"
            )
        try:
            with path.open("rb") as file:
                content = file.read(HEADER_BYTES + 1)
        except OSError as error:
            problem = f"the header can't be read ({error.strerror})"
            raise RecordError(Reason.unreadable, problem) from error
        if len(content) > HEADER_BYTES or b"\0" in content:
            raise RecordError(
                Reason.unreadable, f"the header must be a text file of at most {HEADER_BYTES >> 10} KB"
            )
        return parse_header(content.decode("utf-8", errors="replace"), path)


def parse_header(text: str, path: Path) -> WfdbHeader:
    """Parse the text of a header. `path` becomes the `path` of the result.

    Raises the errors of `read_header`, without the path in the message.
    """
    lines = map(str.strip, text.replace("\r", "\n").split("\n"))
    body = [line for line in lines if line and not line.startswith("#")]
    record = _RECORD.match(body[0]) if body else None
    if record is None:
        problem = "has no record line (name, number of signals, sampling rate, length)"
        raise RecordError(Reason.header, problem)
    # `name/3` is a record of three segments, each with a name and a length. `folder/name` is a plain name.
    if _SEGMENTS.fullmatch(record["name"]) and all(len(line.split()) < 3 for line in body[1:]):
        raise RecordError(Reason.multi_segment, "must have a single segment, got several")
    announced, described = _integer(record["signals"]), len(body) - 1
    if announced != described or not 0 < announced <= MOST_SIGNALS:
        problem = f"must describe its {announced} signals (1 to {MOST_SIGNALS}), got {described} descriptions"
        raise RecordError(Reason.header, problem)
    fs = number(record["fs"])
    if not SLOWEST <= fs <= FASTEST:
        problem = f"the sampling rate must be {SLOWEST} to {FASTEST} Hz, got {record['fs'] or 'none'}"
        raise RecordError(Reason.sampling_rate, problem)
    return WfdbHeader(
        path=path,
        fs=fs,
        length=_integer(record["length"]) if record["length"] else None,
        channels=tuple(map(_channel, body[1:])),
        comments=header_comments(text),
    )


def _channel(line: str) -> Channel:
    fields = line.split(None, 8)
    file, layout, gain, _, zero, _, checksum, _, name = fields + [""] * (9 - len(fields))
    stated = int(checksum) if _INTEGER.fullmatch(checksum) else None
    used = not name.strip() or is_lead(name)  # unused signals may be in any unit
    signal = _signal(layout, gain, zero, name.strip(), used)
    if signal is None:
        raise RecordError(Reason.header, f"a signal line must state its format, got {line[:80]!r}")
    return signal._replace(file=file, checksum=stated)


@lru_cache(maxsize=256)
def _signal(layout: str, gain: str, zero: str, name: str, used: bool) -> Channel | None:
    """Parse the fields of a signal line except file and checksum. Return None if the format is invalid.

    The result is cached, because these fields are equal in many headers.
    """
    parts, scale = _FORMAT.fullmatch(layout), _GAIN.fullmatch(gain)
    if parts is None:
        return None
    if used and (parts["per_frame"] not in (None, "1") or parts["skew"] not in (None, "0")):
        problem = (
            f"signals must have no skew and the same rate, got {name[:80] or '?'} in format {layout[:80]}"
        )
        raise RecordError(Reason.signal_format, problem)
    baseline = scale and scale["baseline"]
    if baseline is None and _INTEGER.fullmatch(zero):
        baseline = zero
    return Channel(
        name=name,
        file="",
        format=_integer(parts["format"]),
        offset=_integer(parts["offset"] or "0"),
        per_mv=_per_mv(scale, name) if used else math.nan,
        baseline=_integer(baseline or "0"),
        checksum=None,
        per_frame=max(1, _integer(parts["per_frame"] or "1")),
    )


def _per_mv(scale: re.Match[str] | None, name: str) -> float:
    """Return the number of units per millivolt. Raises `RecordError` if the gain or the unit is invalid."""
    if scale is None or not math.isfinite(float(scale["gain"])) or float(scale["gain"]) == 0:
        stated = "none" if scale is None else scale["gain"]
        raise RecordError(Reason.gain, f"the gain of lead {name or '?'} must differ from 0, got {stated}")
    units = unit_in_volts(scale["units"] or "mV")
    if units is None:
        raise RecordError(Reason.units, f"lead {name or '?'} must be in volts, got {scale['units']}")
    return float(scale["gain"]) * units


def _integer(text: str) -> int:
    """Return an integer. Raises `RecordError` if it has more than `MOST_DIGITS` digits."""
    if len(text) > MOST_DIGITS:
        raise RecordError(
            Reason.header, f"numbers must have at most {MOST_DIGITS} digits, got {len(text)}: {text[:20]}…"
        )
    return int(text)
