"""How files are damaged: text in its fields and lines, bytes in their lengths and offsets."""

import numpy as np

FORMATS = (8, 16, 24, 32, 61, 80, 160, 212, 310, 311, 516)
NUMBERS = (
    "0", "-1", "1e309", "nan", "99999999999999999999", "0x10", "½", "1.2.3", "", "-", "16x3", "16+9999999",
    "9" * 5000, "True", "[" * 300,
)  # fmt: skip
PATHS = (
    "../secret.mat", "../secret", "/etc/hostname", "..", "", "sub/x.mat", "~", "a b.mat", "\0", "x" * 5000, "s3://a/b",
)  # fmt: skip
WORDS = (
    "#", "#Dx:", "\r", "\n\n", "\t", "/", "(", '"', "{'", "mV", "/uV", "é", "\x1b[31m", "V1", "I",
    "#Dx: 1,2,,,x" * 50,
)  # fmt: skip
LENGTHS = (0, 1, 2, 12, 14, 15, 255, 0xFFFF, 1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
EDGE = 2048
"""Bytes at either end of a file in which most of its structure lies."""


def damaged(name: str, content: bytes, rng: np.random.Generator) -> bytes:
    """A file with one to four changes."""
    if name.endswith(".hea"):
        return _text(content.decode(), " ", rng).encode("utf-8", "replace")
    if name.endswith(".csv"):
        return _text(content.decode(), ",", rng).encode("utf-8", "replace")
    return _bytes(content, rng)


def _text(text: str, between: str, rng: np.random.Generator) -> str:
    """A field, a line or a character gone, doubled, moved or replaced."""
    if rng.random() < 0.3:
        text = text.replace(" 16+24 ", f" {rng.choice(FORMATS)}+24 ")
    for _ in range(rng.integers(1, 5)):
        lines = text.split("\n")
        line = int(rng.integers(len(lines)))
        fields = lines[line].split(between)
        field = int(rng.integers(len(fields)))
        match rng.integers(9):
            case 0:
                fields[field] = str(rng.choice(NUMBERS))
            case 1:
                fields[field] = str(rng.choice(PATHS))
            case 2:
                fields[0] = str(rng.choice(PATHS))
            case 3:
                fields[field] += str(rng.choice(WORDS))
            case 4:
                del fields[field]
            case 5:
                fields.insert(field, str(rng.choice(WORDS)))
            case 6:
                lines.insert(line, lines[int(rng.integers(len(lines)))])
            case 7:
                fields[field] = "".join(rng.permutation(list(fields[field])))
            case 8:
                fields = [*fields[: field + 1], "".join(chr(c) for c in rng.integers(1, 1200, 3))]
        lines[line] = between.join(fields)
        text = "\n".join(lines)
    return text


def _bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """A byte or a length replaced, a piece gone, doubled or zeroed, the end cut off; mostly near the ends."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        size = max(len(changed), 1)
        near = int(rng.integers(min(EDGE, size)))
        place = (near, size - 1 - near, int(rng.integers(size)))[rng.choice(3, p=(0.5, 0.3, 0.2))]
        piece = slice(place, place + int(rng.integers(1, 64)))
        match rng.choice(6, p=(0.4, 0.25, 0.1, 0.1, 0.1, 0.05)):
            case 0:
                changed[place : place + 1] = bytes(rng.integers(0, 256, 1, np.uint8))
            case 1:
                width, order = int(rng.choice((2, 4, 8))), "little" if rng.random() < 0.9 else "big"
                word = int(rng.choice(LENGTHS)) % (1 << 8 * width)
                place -= place % width
                changed[place : place + width] = word.to_bytes(width, order)
            case 2:
                del changed[piece]
            case 3:
                changed[place:place] = changed[piece]
            case 4:
                changed[piece] = bytes(len(changed[piece]))
            case 5:
                del changed[place:]
    return bytes(changed)
