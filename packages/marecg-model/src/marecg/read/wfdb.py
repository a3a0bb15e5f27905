"""One record, read and made uniform: twelve leads by name, in millivolts, with its codes.

Shapes: C leads (rows in `config.LEADS` order), L samples at the record's own rate.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import wfdb
from numpy.typing import NDArray

from marecg.config import LEADS
from marecg.ecg.signal import lead_rows
from marecg.errors import Reason, RecordError
from marecg.read.dx import diagnoses
from marecg.read.record import Record, age_in_years, inside, on_disk, sex_letter
from marecg.read.wfdb_header import Channel, Header, read_header

BYTES_PER_SAMPLE = {16: 2.0, 24: 3.0, 32: 4.0, 61: 2.0, 80: 1.0, 160: 2.0, 212: 1.5}
"""The WFDB formats that are read. Compressed ones are left out: their length can't be checked beforehand."""


def read_record(header: Path, root: Path, seconds: float | None = None) -> Record:
    """Read a WFDB record in the style of the CinC Challenges: `#Age`, `#Sex` and `#Dx` as comments.

    Args:
        header: the `.hea` file.
        root: the source folder; neither the header nor its signal files may lie outside it.
        seconds: how much of the recording to read from its start; all of it by default.

    Raises:
        RecordError: the record can't be used; `reason` is one of `errors.Reason`.
    """
    parsed = read_header(header, root)
    x_CL, length, notes = read_signal(parsed, root, seconds)
    found = diagnoses(parsed.comments.get("dx", ""))
    return Record(
        id=header.stem,
        source=root.name,
        path=header,
        x_CL=x_CL,
        fs=parsed.fs,
        codes=found.codes,
        age=age_in_years(parsed.comments.get("age")),
        sex=sex_letter(parsed.comments.get("sex")),
        patient=parsed.comments.get("patient") or None,
        notes=(*notes, *found.notes),
        length=length,
    )


def read_signal(
    header: Header, root: Path, seconds: float | None = None, leads: Sequence[str] = LEADS
) -> tuple[NDArray[np.float32], int, tuple[str, ...]]:
    """Read the twelve leads of a parsed header: (x_CL in mV, samples per lead in the file, notes).

    With `leads` only those are read, in that order. Samples that the format marks as invalid are NaN.

    Raises:
        RecordError: a path, file, lead or format that can't be used.
    """
    try:
        rows = lead_rows([channel.name for channel in header.channels], leads)
    except RecordError as error:
        raise RecordError(error.reason, error.problem, where=header.path) from error
    length = _checked_length(header, rows, root)
    read = length if seconds is None else min(length, math.ceil(seconds * header.fs))
    d_LC = _samples(header, rows, read)
    channels = [header.channels[row] for row in rows]
    notes = _checksum_notes(leads, channels, d_LC) if read == length else ()
    baseline_C = np.array([channel.baseline for channel in channels])
    x_LC = (d_LC - baseline_C) / np.array([channel.per_mv for channel in channels])
    lowest = np.array([-(1 << (_bits(channel.format) - 1)) for channel in channels])
    x_LC[d_LC == lowest] = np.nan  # WFDB's mark for "no sample here"
    return np.ascontiguousarray(x_LC.T, np.float32), length, notes


def _bits(fmt: int) -> int:
    return {212: 12, 80: 8}.get(fmt, int(BYTES_PER_SAMPLE[fmt] * 8))


def _checked_length(header: Header, rows: list[int], root: Path) -> int:
    """Samples per lead, after every signal file has been seen to be inside `root` and long enough."""
    lengths = []
    for name in sorted({header.channels[row].file for row in rows}):
        shared = [channel for channel in header.channels if channel.file == name]
        size = _signal_file(header.path, name, root).stat().st_size - shared[0].offset
        formats = {channel.format for channel in shared}
        if len(formats) != 1 or not formats <= BYTES_PER_SAMPLE.keys():
            stated = ", ".join(map(str, sorted(formats)))
            raise RecordError(
                Reason.signal_format,
                f"{name} is in WFDB format {stated}, which is not read",
                where=header.path,
            )
        holds = int(max(size, 0) / (len(shared) * BYTES_PER_SAMPLE[formats.pop()]))
        length = holds if header.length is None else header.length
        if holds < length:
            problem = f"{name} holds {holds} of the {length} samples that the header announces"
            raise RecordError(Reason.truncated, problem, where=header.path)
        lengths.append(length)
    if min(lengths) == 0:
        raise RecordError(Reason.truncated, "has no samples", where=header.path)
    return min(lengths)


def _signal_file(header: Path, name: str, root: Path) -> Path:
    path = header.parent / name
    if Path(name).name != name or not inside(path, root):
        problem = f"names the signal file {name[:80]!r}, which is not in its own folder"
        raise RecordError(Reason.path, problem, where=header)
    if not on_disk(path):
        raise RecordError(Reason.no_signal_file, f"its signal file {name} is missing", where=header)
    return path


def _samples(header: Header, rows: list[int], read: int) -> NDArray[np.int64]:
    """The first `read` digital samples [L, 12]; the common format 16 by numpy, the others by wfdb."""
    try:
        files = {channel.file for channel in header.channels}
        if len(files) == 1 and header.channels[0].format == 16:
            return _format_16(header, read)[:, rows]
        record = str(header.path.with_suffix(""))
        digital = wfdb.rdrecord(record, channels=rows, sampto=read, physical=False, return_res=32).d_signal
    except (ValueError, OSError, IndexError, TypeError) as error:
        raise RecordError(Reason.unreadable, f"can't be read ({error})", where=header.path) from error
    return np.asarray(digital, np.int64)


def _format_16(header: Header, read: int) -> NDArray[np.int64]:
    """Little-endian 16-bit samples, all signals of one instant side by side: [L, signals]."""
    first, count = header.channels[0], len(header.channels)
    samples = np.fromfile(header.path.parent / first.file, "<i2", read * count, offset=first.offset)
    return samples.reshape(read, count).astype(np.int64)


def _checksum_notes(
    names: Sequence[str], channels: list[Channel], d_LC: NDArray[np.int64]
) -> tuple[str, ...]:
    """WFDB's checksum is the sum of a lead's samples modulo 2¹⁶."""
    sums = d_LC.sum(axis=0)
    differ = [
        name
        for name, channel, total in zip(names, channels, sums, strict=True)
        if channel.checksum is not None and (channel.checksum - int(total)) % 65536
    ]
    return (f"checksum differs in {', '.join(differ)}",) if differ else ()
