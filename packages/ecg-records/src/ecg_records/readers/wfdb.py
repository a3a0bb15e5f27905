"""Read WFDB records: leads by name, in millivolts, with codes.

Shapes: K leads of the file (in the order of `LEADS`), F samples of a frame, L samples at the record's own
    rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.dx import diagnoses
from ecg_records.errors import Reason, RecordError, located
from ecg_records.notes import Note, NoteKind, changed, unused
from ecg_records.readers.wfdb_header import Channel, WfdbHeader, read_header
from ecg_records.record import Record, age_in_years, inside, sex_letter
from ecg_records.signal.leads import find_leads
from ecg_records.storage.availability import PASSING
from ecg_records.stretch import WHOLE, Stretch

BYTES_PER_SAMPLE = {16: 2.0, 24: 3.0, 32: 4.0, 61: 2.0, 80: 1.0, 160: 2.0, 212: 1.5}
"""Supported WFDB formats. Compressed formats aren't supported, because their length is unknown before
reading."""
LOWEST = {16: -1 << 15, 24: -1 << 23, 32: -1 << 31, 61: -1 << 15, 80: -1 << 7, 160: -1 << 15, 212: -1 << 11}
"""Value of a missing sample, by format."""

SUMMED_AT_ONCE = 1 << 20
"""Number of samples to read at a time for checksums."""
SUMMED_ROWS = 256
NEARLY_ALL = 1.25
"""If the file is at most this many times as long as the requested part, it is read completely in a single
pass."""
MONTAGE_LIMIT = 0.3
"""Maximum of |I + III − II| relative to the limb leads, equal to `QualityLimits.montage_limit`."""


def read_record(header: Path, root: Path, stretch: Stretch = WHOLE) -> Record:
    """Read a WFDB record with the comments of the PhysioNet/CinC Challenges: `#Age`, `#Sex` and `#Dx`.

    The patient is read from a comment `#Patient`, which the Challenges don't have. The header and its signal
    files must be in the source folder `root`. Raises `RecordError` if the record can't be used.
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
    """Read the standard leads of a record.

    Missing samples are NaN. If the stretch starts at 0, the checksums in the header are compared with the
    samples of the complete file.

    Returns:
        The signals in mV [K, L], the lead names, the samples per lead in the file, and notes.

    Raises:
        RecordError: If the record can't be used.
    """
    with located(header.path):
        found = find_leads(tuple(channel.name for channel in header.channels))
        length = _checked_length(header, found.rows, root)
        cut = stretch.samples(header.fs, length)
        channels = [header.channels[row] for row in found.rows]
        names = dict.fromkeys(channel.file for channel in channels)
        files = {name: _SignalFile.of(header, name) for name in names}
        try:
            read = {name: file.part_and_sums(cut, length) for name, file in files.items()}
        except (ValueError, OSError) as error:
            raise RecordError(Reason.unreadable, f"can't be read ({error})") from error
        columns = [
            files[channel.file].columns[row] for row, channel in zip(found.rows, channels, strict=True)
        ]
        d_KL = np.array(
            [read[channel.file][0][:, column] for channel, column in zip(channels, columns, strict=True)]
        )
        x_KL = millivolts(d_KL, channels)
        lowest_K1 = np.array([[LOWEST[channel.format]] for channel in channels], d_KL.dtype)
        x_KL[d_KL == lowest_K1] = np.nan
        wrong = [
            lead
            for lead, channel, column in zip(found.leads, channels, columns, strict=True)
            if (sums := read[channel.file][1]) is not None and channel.checksum is not None
            if (channel.checksum - int(sums[column])) % 65536
        ]
        stated = sum(channel.checksum is not None for channel in channels)
        wrong = wrong if any(channel.checksum for channel in channels) else []  # 0 stands for no checksum
        if wrong and len(wrong) == stated and contradicts(found.leads, x_KL):
            problem = "the samples don't match the header: all checksums differ, and I + III isn't II"
            remedy = "Download the record again, or compare its header with its signal file"
            raise RecordError(Reason.checksum, problem, remedy=remedy)
    notes = (Note(f"checksum differs in {', '.join(wrong)}", NoteKind.checksum, wrong),) if wrong else ()
    return found.upright(x_KL), found.leads, length, (*notes, *changed(found), *unused(found.unused))


@dataclass(frozen=True)
class _SignalFile:
    """Signal file of frames. A frame has one or more samples of each channel.

    Attributes:
        path: The file.
        format: Number of the WFDB format.
        offset: Bytes before the first sample.
        width: Number of samples in a frame.
        columns: Position of each channel's first sample in a frame, by the number of the channel in the
            header.
    """

    path: Path
    format: int
    offset: int
    width: int
    columns: dict[int, int]

    @classmethod
    def of(cls, header: WfdbHeader, name: str) -> "_SignalFile":
        shared = [(row, channel) for row, channel in enumerate(header.channels) if channel.file == name]
        ends = np.cumsum([0, *(channel.per_frame for _, channel in shared)]).tolist()
        columns = {row: ends[index] for index, (row, _) in enumerate(shared)}
        first = shared[0][1]
        return cls(header.path.parent / name, first.format, first.offset, ends[-1], columns)

    def frames(self, first: int, stop: int) -> NDArray[np.signedinteger]:
        """Read the frames from `first` up to `stop`, [frames, width]."""
        start, count = first * self.width, (stop - first) * self.width
        return self._samples(start, count).reshape(stop - first, self.width)

    def part_and_sums(
        self, cut: slice, length: int
    ) -> tuple[NDArray[np.signedinteger], NDArray[np.uint16] | None]:
        """Read the frames in `cut`, and sum the samples of the complete file for checksums.

        Returns:
            The frames, and the sum of each column over all `length` frames, or None if `cut` doesn't start
            at 0.
        """
        if cut.start > 0:
            return self.frames(cut.start, cut.stop), None
        if length <= NEARLY_ALL * cut.stop:  # a single pass
            d_LF = self.frames(0, length)
            return d_LF[: cut.stop], _column_sums(d_LF)
        state = self.path.stat()
        file_state = (str(self.path), state.st_size, state.st_mtime_ns)
        return self.frames(0, cut.stop), _sums(file_state, self.format, self.offset, self.width, length)

    def _samples(self, start: int, count: int) -> NDArray[np.signedinteger]:
        """Decode `count` samples from number `start` on (https://wfdb.io/spec/signal-files.htm)."""
        packed = {24: 3, 80: 1}.get(self.format)
        if self.format == 212:  # two samples in three bytes
            starts_inside = start % 2
            size, offset = (3 * (count + starts_inside) + 1) // 2, self.offset + start // 2 * 3
        elif packed:
            size, offset = packed * count, self.offset + packed * start
        else:
            dtype = np.dtype({16: "<i2", 32: "<i4", 61: ">i2", 160: "<u2"}[self.format])
            d_n = self._read(dtype, count, self.offset + dtype.itemsize * start)
            if self.format == 160:
                return d_n.astype(np.int32) - 32768
            return d_n.astype(dtype.newbyteorder("="), copy=False)
        raw = self._read(np.dtype(np.uint8), size, offset)
        if self.format == 80:
            return raw.astype(np.int16) - 128
        if self.format == 24:
            wide = np.zeros((count, 4), np.uint8)
            wide[:, 1:] = raw.reshape(count, 3)
            return wide.view("<i4")[:, 0].astype(np.int32) >> 8
        low, both, high = (
            np.concatenate([raw, np.zeros(-len(raw) % 3, np.uint8)]).reshape(-1, 3).T.astype(np.int16)
        )
        pairs = np.stack([low | (both & 0x0F) << 8, high | (both & 0xF0) << 4], axis=1).reshape(-1)
        d_n = pairs[starts_inside : starts_inside + count]
        return np.where(d_n > 2047, d_n - 4096, d_n).astype(np.int16)

    def _read(self, dtype: np.dtype[Any], count: int, offset: int) -> NDArray[Any]:
        """Read `count` numbers like `numpy.fromfile`, in half the time for a file of ten seconds."""
        with self.path.open("rb") as file:
            file.seek(offset)
            return np.frombuffer(file.read(count * dtype.itemsize), dtype)


@lru_cache(maxsize=16)
def _sums(
    file_state: tuple[str, int, int], fmt: int, offset: int, width: int, length: int
) -> NDArray[np.uint16]:
    """Return the sum of each column of a file. The cache avoids new sums if a long file is read in parts."""
    file = _SignalFile(Path(file_state[0]), fmt, offset, width, {})
    total = np.zeros(width, np.uint16)
    step = max(1, SUMMED_AT_ONCE // width)
    for first in range(0, length, step):
        total += _column_sums(file.frames(first, min(length, first + step)))
    return total


def _column_sums(d_LF: NDArray[np.signedinteger]) -> NDArray[np.uint16]:
    """Sum columns modulo 2¹⁶ for WFDB checksums. Rows are joined, because numpy adds longer rows faster."""
    u_LF = d_LF.view(np.uint16) if d_LF.dtype == np.int16 else d_LF.astype(np.uint16)
    even, width = len(u_LF) // SUMMED_ROWS * SUMMED_ROWS, u_LF.shape[1]
    folded = u_LF[:even].reshape(-1, SUMMED_ROWS * width).sum(axis=0, dtype=np.uint16)
    total: NDArray[np.uint16] = folded.reshape(SUMMED_ROWS, width).sum(axis=0, dtype=np.uint16)
    total += u_LF[even:].sum(axis=0, dtype=np.uint16)
    return total


def contradicts(leads: Sequence[str], x_KL: NDArray[np.floating]) -> bool:
    """Return whether I + III differs from II by more than `QualityLimits.montage_limit` allows.

    False if one of these leads is missing.
    """
    if not {"I", "II", "III"} <= set(leads):
        return False
    limb_3L = x_KL[[leads.index(lead) for lead in ("I", "II", "III")]].astype(np.float64)
    limb_3L = limb_3L[:, np.isfinite(limb_3L).all(axis=0)]
    if not limb_3L.shape[1]:
        return False
    i, ii, iii = limb_3L - limb_3L.mean(axis=1, keepdims=True)
    off, limb = np.mean((i + iii - ii) ** 2), np.mean([i**2, ii**2, iii**2])
    return bool(off > MONTAGE_LIMIT**2 * limb)


def millivolts(d_KL: NDArray[np.signedinteger], channels: list[Channel]) -> NDArray[np.float32]:
    """Convert samples to millivolts: (d − baseline) / gain, rounded once to float32.

    If all three values are exact in float32, the division is done in float32, in a third of the time. The
    result is the same as the rounded division in float64, because 53 bits are more than 2 · 24 + 2 (Figueroa
    1995, doi:10.1145/221332.221334).
    """
    baseline_K1 = np.array([[channel.baseline] for channel in channels], np.float64)
    per_mv_K1 = np.array([[channel.per_mv] for channel in channels])
    exact = d_KL.dtype == np.int16 and np.abs(baseline_K1).max() < 1 << 23
    exact = exact and (per_mv_K1.astype(np.float32) == per_mv_K1).all()
    float_type: type[np.floating[Any]] = np.float32 if exact else np.float64
    x_KL: NDArray[Any] = d_KL.astype(float_type)
    if baseline_K1.any():
        x_KL -= baseline_K1.astype(float_type)
    x_KL /= per_mv_K1.astype(float_type)
    return x_KL.astype(np.float32, copy=False)


def _checked_length(header: WfdbHeader, rows: Sequence[int], root: Path) -> int:
    """Return the samples per lead. Raises `RecordError` if a signal file is outside `root` or too short."""
    lengths = []
    for name in sorted({header.channels[row].file for row in rows}):
        shared = [channel for channel in header.channels if channel.file == name]
        size = _size(header.path, name, root) - shared[0].offset
        formats = {channel.format for channel in shared}
        if len(formats) != 1 or not formats <= BYTES_PER_SAMPLE.keys():
            stated = ", ".join(map(str, sorted(formats)))
            known = ", ".join(map(str, sorted(BYTES_PER_SAMPLE)))
            problem = f"{name} must be in one of the WFDB formats {known}, got {stated}"
            raise RecordError(Reason.signal_format, problem)
        holds = int(
            max(size, 0) / (sum(channel.per_frame for channel in shared) * BYTES_PER_SAMPLE[formats.pop()])
        )
        length = holds if header.length is None else header.length
        if holds < length:
            problem = f"{name} must have {length} samples as its header states, got {holds}"
            raise RecordError(Reason.truncated, problem)
        lengths.append(length)
    if min(lengths) == 0:
        raise RecordError(Reason.truncated, "has no samples")
    return min(lengths)


def _size(header: Path, name: str, root: Path) -> int:
    """Return the size of a signal file. Raises `RecordError` if it is missing, `OSError` if unreachable."""
    path = header.parent / name
    if Path(name).name != name or not inside(path, root):
        problem = f"the signal file must be in the header's folder, got {name[:80]!r}"
        raise RecordError(Reason.path, problem)
    try:
        status = path.stat()
        regular = S_ISREG(status.st_mode)
    except OSError as error:
        if error.errno in PASSING:
            raise
        regular = False
    if not regular:
        raise RecordError(Reason.no_signal_file, f"the signal file {name} is missing")
    return status.st_size
