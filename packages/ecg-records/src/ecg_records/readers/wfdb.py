"""WFDB records made uniform: leads by name, in millivolts, with codes.

Shapes: K leads as found (in `LEADS` order), L samples at the record's own rate.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import diagnoses
from ecg_records.errors import Reason, RecordError, located
from ecg_records.readers.wfdb_header import Channel, WfdbHeader, read_header
from ecg_records.record import Record, age_in_years, inside, is_regular, sex_letter
from ecg_records.signal.leads import known_leads, lead_rows
from ecg_records.storage.availability import refuse_unreachable
from ecg_records.stretch import WHOLE, Stretch

BYTES_PER_SAMPLE = {16: 2.0, 24: 3.0, 32: 4.0, 61: 2.0, 80: 1.0, 160: 2.0, 212: 1.5}
"""The WFDB formats that are read. Compressed ones are left out: their length can't be checked beforehand."""


def read_record(header: Path, root: Path, stretch: Stretch = WHOLE) -> Record:
    """Read a WFDB record in the style of the CinC Challenges: `#Age`, `#Sex` and `#Dx` as comments.

    Neither the header nor its signal files may lie outside the source folder `root`. Raises `RecordError`.
    """
    parsed = read_header(header, root)
    x_KL, leads, length, notes = read_leads(parsed, root, stretch)
    dx = diagnoses(parsed.comments.get("dx", ""))
    return Record(
        id=header.stem,
        source=root.name,
        path=header,
        x_KL=x_KL,
        fs=parsed.fs,
        length=length,
        codes=dx.codes,
        age=age_in_years(parsed.comments.get("age")),
        sex=sex_letter(parsed.comments.get("sex")),
        patient=parsed.comments.get("patient") or None,
        notes=(*notes, *dx.notes),
        leads=leads,
    )


def read_leads(
    header: WfdbHeader, root: Path, stretch: Stretch = WHOLE
) -> tuple[NDArray[np.float32], tuple[str, ...], int, tuple[str, ...]]:
    """Read a record's standard leads: (x_KL in mV, names, samples per lead, notes).

    Samples that the format marks as invalid are NaN. Raises `RecordError` for what can't be used.
    """
    names = [channel.name for channel in header.channels]
    with located(header.path):
        leads = known_leads(names)
        rows = lead_rows(names, leads)
        length = _checked_length(header, rows, root)
        cut = stretch.samples(header.fs, length)
        d_KL = np.ascontiguousarray(_samples(header, rows, cut).T)
    channels = [header.channels[row] for row in rows]
    notes = _checksum_notes(leads, channels, d_KL) if cut == slice(0, length) else ()
    x_KL = _millivolts(d_KL, channels)
    lowest_K1 = np.array([[-(1 << (_bits(channel.format) - 1))] for channel in channels], d_KL.dtype)
    x_KL[d_KL == lowest_K1] = np.nan  # WFDB's mark for "no sample here"
    return x_KL, leads, length, notes


def _millivolts(d_KL: NDArray[np.signedinteger], channels: list[Channel]) -> NDArray[np.float32]:
    """(d − baseline) / gain, each rounded once to float32.

    Where all three are float32 already, its quotient is the one that float64 would be rounded to, in a third
    of the time: 53 bits are more than twice 24 and two (Figueroa 1995, doi:10.1145/221332.221334).
    """
    baseline_K1 = np.array([[channel.baseline] for channel in channels], np.float64)
    per_mv_K1 = np.array([[channel.per_mv] for channel in channels])
    exact = d_KL.dtype == np.int16 and np.abs(baseline_K1).max() < 1 << 23
    exact = exact and (per_mv_K1.astype(np.float32) == per_mv_K1).all()
    kind: type[np.floating[Any]] = np.float32 if exact else np.float64
    x_KL: NDArray[Any] = d_KL.astype(kind)
    if baseline_K1.any():
        x_KL -= baseline_K1.astype(kind)
    x_KL /= per_mv_K1.astype(kind)
    return x_KL.astype(np.float32, copy=False)


def _bits(fmt: int) -> int:
    return {212: 12, 80: 8}.get(fmt, int(BYTES_PER_SAMPLE[fmt] * 8))


def _checked_length(header: WfdbHeader, rows: list[int], root: Path) -> int:
    """Samples per lead, after every signal file has been seen to be inside `root` and long enough."""
    lengths = []
    for name in sorted({header.channels[row].file for row in rows}):
        shared = [channel for channel in header.channels if channel.file == name]
        size = _signal_file(header.path, name, root).stat().st_size - shared[0].offset
        formats = {channel.format for channel in shared}
        if len(formats) != 1 or not formats <= BYTES_PER_SAMPLE.keys():
            stated = ", ".join(map(str, sorted(formats)))
            raise RecordError(Reason.signal_format, f"{name} is in WFDB format {stated}, which is not read")
        holds = int(max(size, 0) / (len(shared) * BYTES_PER_SAMPLE[formats.pop()]))
        length = holds if header.length is None else header.length
        if holds < length:
            problem = f"{name} holds {holds} of the {length} samples that the header announces"
            raise RecordError(Reason.truncated, problem)
        lengths.append(length)
    if min(lengths) == 0:
        raise RecordError(Reason.truncated, "has no samples")
    return min(lengths)


def _signal_file(header: Path, name: str, root: Path) -> Path:
    path = header.parent / name
    if Path(name).name != name or not inside(path, root):
        problem = f"names the signal file {name[:80]!r}, which is not in its own folder"
        raise RecordError(Reason.path, problem)
    refuse_unreachable(path)
    if not is_regular(path):
        raise RecordError(Reason.no_signal_file, f"its signal file {name} is missing")
    return path


def _samples(header: WfdbHeader, rows: list[int], cut: slice) -> NDArray[np.signedinteger]:
    """Digital samples [L, K]; the common format 16 by numpy, the others by wfdb."""
    try:
        files = {channel.file for channel in header.channels}
        if len(files) == 1 and header.channels[0].format == 16:
            first, count, read = header.channels[0], len(header.channels), cut.stop - cut.start
            offset, file = first.offset + 2 * count * cut.start, header.path.parent / first.file
            return np.fromfile(file, "<i2", read * count, offset=offset).reshape(read, count)[:, rows]
        import wfdb  # noqa: PLC0415 (a second that corpora in format 16 save)

        record = str(header.path.with_suffix(""))
        part = {"channels": rows, "sampfrom": cut.start, "sampto": cut.stop}
        digital = wfdb.rdrecord(record, physical=False, return_res=32, **part).d_signal
    except (ValueError, OSError, IndexError, TypeError) as error:
        raise RecordError(Reason.unreadable, f"can't be read ({error})") from error
    return np.asarray(digital, np.int64)


def _checksum_notes(
    names: Sequence[str], channels: list[Channel], d_KL: NDArray[np.signedinteger]
) -> tuple[str, ...]:
    """WFDB's checksum is the sum of a lead's samples modulo 2¹⁶."""
    sums = d_KL.sum(axis=1, dtype=np.int64)
    differ = [
        name
        for name, channel, total in zip(names, channels, sums, strict=True)
        if channel.checksum is not None and (channel.checksum - int(total)) % 65536
    ]
    return (f"checksum differs in {', '.join(differ)}",) if differ else ()
