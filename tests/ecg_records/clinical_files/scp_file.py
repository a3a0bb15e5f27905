"""A recording in SCP-ECG.

Shapes: C leads, L samples.
"""

import binascii
import struct
from collections.abc import Sequence

import numpy as np
from tests.ecg_records.clinical_files import recording as ecg

from ecg_records.signal.leads import LEADS


def scp(
    path,
    x_CL,
    leads=LEADS,
    fs=500,
    *,
    differences=2,
    tables=19999,
    flags=0,
    bimodal=0,
    nanovolts=ecg.STEP_UV * 1000,
    announced=None,
    late="",
    checksum=0,
    born=ecg.BORN,
):
    """`tables`: 19999 the default Huffman code, None plain samples; `late`: a lead that begins later."""
    d_CL = ecg.steps(x_CL).astype(np.int64)
    values = [[*row[:differences].tolist(), *np.diff(row, differences).tolist()] for row in d_CL]
    streams = [struct.pack(f"<{len(row)}h", *row) if tables is None else _huffman(row) for row in values]
    about = b"".join(
        struct.pack("<BH", tag, len(content)) + content
        for tag, content in (
            (0, ecg.NAME.encode() + b"\0"),
            (2, ecg.NUMBER.encode() + b"\0"),
            (5, struct.pack("<HBB", int(born[:4]), int(born[4:6]), int(born[6:]))),
            (8, b"\x02"),
            (25, struct.pack("<HBB", 2013, 1, 25)),
            (26, bytes([10, 59, 19])),
            (27, struct.pack("<H", round(ecg.LOW * 100))),
            (28, struct.pack("<H", ecg.HIGH)),
            (255, b""),
        )
    )
    texts = [
        struct.pack("<BH", number, len(text) + 1) + text.encode() + b"\0"
        for number, text in enumerate(ecg.TEXTS, 1)
    ]
    samples = announced or x_CL.shape[1]
    starts = [(1 + 100 * (lead == late), samples, ecg.LEAD_NUMBERS[lead]) for lead in leads]
    described = b"".join(struct.pack("<IIB", *each) for each in starts)
    sizes = struct.pack(f"<{len(leads)}H", *map(len, streams))
    sections = {
        1: about,
        3: bytes([len(leads), flags | 4]) + described,
        6: struct.pack("<HHBB", nanovolts, round(1e6 / fs), differences, bimodal) + sizes + b"".join(streams),
        7: bytes([1, 0]) + struct.pack("<7H3h", *_measured()),
        8: bytes(8) + bytes([len(texts)]) + b"".join(texts),
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


def _measured() -> tuple[int, ...]:
    """RR, PP, of the reference beat ends in ms and axes; 29999 and 999 stand for what isn't known."""
    rate, pr, qrs, qt, _, axis = map(round, ecg.MEASURED.values())
    return (round(60_000 / rate), 29999, 300, 29999, 300 + pr, 300 + pr + qrs, 300 + pr + qt, 999, axis, 999)


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
