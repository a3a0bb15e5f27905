"""A recording in SCP-ECG.

Shapes: C leads, L samples.
"""

import binascii
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.marecg.clinical_files.recording import (
    BORN,
    CONFIRMED,
    HIGH,
    LEAD_NUMBERS,
    LOW,
    NAME,
    NUMBER,
    SAID,
    STATED,
    STEP_UV,
    steps,
)

from marecg.base.config import LEADS


def scp(
    path: Path,
    x_CL: NDArray[np.floating],
    leads: Sequence[str] = LEADS,
    fs: float = 500,
    *,
    differences: int = 2,
    tables: int | None = 19999,
    flags: int = 0,
    bimodal: int = 0,
    nanovolts: int = STEP_UV * 1000,
    said: int | None = None,
    late: str = "",
    checksum: int = 0,
) -> None:
    """`tables`: 19999 the default Huffman code, None plain samples; `late`: a lead that begins later."""
    rows = [np.diff(row.astype(np.int64), differences) for row in steps(x_CL)]
    heads = [steps(x_CL)[row, :1].astype(np.int64) for row in range(len(leads))]
    if differences == 2:
        heads = [row[:2].astype(np.int64) for row in steps(x_CL)]
    elif differences == 0:
        heads = [row[:0].astype(np.int64) for row in steps(x_CL)]
    values = [np.concatenate(pair).tolist() for pair in zip(heads, rows, strict=True)]
    streams = [struct.pack(f"<{len(row)}h", *row) if tables is None else _huffman(row) for row in values]
    about = b"".join(
        struct.pack("<BH", tag, len(content)) + content
        for tag, content in (
            (0, NAME.encode() + b"\0"),
            (2, NUMBER.encode() + b"\0"),
            (5, struct.pack("<HBB", int(BORN[:4]), int(BORN[4:6]), int(BORN[6:]))),
            (8, b"\x02"),
            (25, struct.pack("<HBB", 2013, 1, 25)),
            (26, bytes([10, 59, 19])),
            (27, struct.pack("<H", round(LOW * 100))),
            (28, struct.pack("<H", HIGH)),
            (255, b""),
        )
    )
    samples = said or x_CL.shape[1]
    described = b"".join(
        struct.pack("<IIB", 1 + 100 * (lead == late), samples, LEAD_NUMBERS[lead]) for lead in leads
    )
    sizes = struct.pack(f"<{len(leads)}H", *map(len, streams))
    sections = {
        1: about,
        3: bytes([len(leads), flags | 4]) + described,
        6: struct.pack("<HHBB", nanovolts, round(1e6 / fs), differences, bimodal) + sizes + b"".join(streams),
        7: bytes([1, 0]) + struct.pack("<7H3h", *_measured()),
        8: bytes(8) + bytes([len(_TEXTS)]) + b"".join(_statement(*each) for each in enumerate(_TEXTS, 1)),
    } | ({} if tables is None else {2: struct.pack("<H", tables)})
    place, pointers, content = 6 + 16 + 120, b"", b""
    for number in range(12):
        body = sections.get(number, b"")
        size = 136 if number == 0 else 16 + len(body) if body else 0
        pointers += struct.pack("<HII", number, size, 7 if number == 0 else place + 1 if body else 0)
        if body:
            content += struct.pack("<HHIBB6x", 0, number, size, 20, 20) + body
            place += size
    whole = struct.pack("<HHIBB6s", 0, 0, 136, 20, 20, b"SCPECG") + pointers + content
    whole = struct.pack("<I", 6 + len(whole)) + whole
    path.write_bytes(struct.pack("<H", binascii.crc_hqx(whole, 0xFFFF) ^ checksum) + whole)


_TEXTS = (*STATED, CONFIRMED)


def _measured() -> tuple[int, ...]:
    """RR, PP, of the reference beat ends in ms and axes; 29999 and 999 stand for what isn't known."""
    on = 300
    ends = [on, 29999, on + SAID["pr"], on + SAID["pr"] + SAID["qrs"], on + SAID["pr"] + SAID["qt"]]
    return (*(round(each) for each in (60_000 / SAID["rate"], 29999, *ends)), 999, round(SAID["axis"]), 999)


def _statement(number: int, text: str) -> bytes:
    return struct.pack("<BH", number, len(text) + 1) + text.encode() + b"\0"


def _huffman(values: Sequence[int]) -> bytes:
    """The default code of SCP-ECG."""

    def word(value: int) -> str:
        if value == 0:
            return "0"
        if abs(value) <= 8:
            return "1" * abs(value) + "0" + ("1" if value < 0 else "0")
        bits, mark = (8, "1" * 9 + "0") if -128 <= value < 128 else (16, "1" * 10)
        return mark + format(value % (1 << bits), f"0{bits}b")

    text = "".join(map(word, values))
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")
