"""MATLAB files of level 5 (before v7.3), parsed defensively.

scipy's reader follows a file's tags in C wherever they lead: a damaged one can end the process. Here every
piece is a slice of the file, and one that leads outside of it or does not hold what its variable announces is
a `ValueError`. Numbers, text and single structs of these are read; cells, objects, sparse matrices are not.

Source: MAT-File Format (The MathWorks), level 5.
"""

import math
import zlib
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.readers.arrays.lazy_array import Slices, Unpacked

HEADER = 128
TAG = 8
"""Bytes that hold the type and the size of an element."""
VARIABLE_BYTES = 1 << 28
"""Bytes of a struct or a text, which are read whole. A compressed one could hold far more."""
PIECE = 1 << 12
"""Bytes that are inflated at once; at most a thousand times as many come of them."""
BEGINNING = 1 << 10
"""Bytes that hold the flags, the dimensions and the name of a variable."""
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""The type of an element → how its numbers lie in it: MATLAB takes the smallest that holds them."""
TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
"""The type of an element → the encoding of its text."""
UINT32, MATRIX, COMPRESSED = 6, 14, 15
STRUCT, CHAR, NUMBERS = 2, 4, range(6, 16)
"""Classes of variables."""
COMPLEX = 0x800
"""The flag of numbers with an imaginary part."""

ASTRAY = "a piece of it is of no known type, or leads beyond its end"

Element = tuple[int, memoryview]
"""The type of an element, and what it holds."""


class Variable:
    """Variable of a file: name, shape, and whether it is of real numbers.

    It is read as far as it is asked for.
    """

    def __init__(self, element: Element, order: str) -> None:
        """Read its beginning. Raises `ValueError`."""
        self._element, self._order = element, order
        kind, flags, self.shape, self.name = _announced(_matrix(element, order, BEGINNING)[0], order)
        self.real = kind in NUMBERS and not flags & COMPLEX

    @cached_property
    def value(self) -> Any:
        """Return numbers [*shape], text, fields by name, or None for other types. Raises `ValueError`."""
        if self.real:
            return self[(slice(None),) * len(self.shape)]
        return _value(_matrix(self._element, self._order, VARIABLE_BYTES)[0], self._order)

    def __getitem__(self, key: Slices, /) -> NDArray[Any]:
        return self._numbers[key]

    @cached_property
    def _numbers(self) -> NDArray[Any] | Unpacked:
        """Its numbers, still on the disk. Raises `ValueError`."""
        matrix, length = _matrix(self._element, self._order, BEGINNING)
        places = list(islice(_places(matrix, self._order), 4))
        if len(places) < 4 or places[3][0] not in STORED or places[3][1] + places[3][2] > length:
            raise ValueError("a variable is not whole")
        kind, start, size = places[3]
        dtype, count = np.dtype(self._order + STORED[kind]), math.prod(self.shape)
        if size != count * dtype.itemsize:
            raise ValueError(f"{size / dtype.itemsize:g} numbers stand where {count} should be")
        if self._element[0] == COMPRESSED:
            pieces = partial(_inflated, self._element[1])
            return Unpacked(self.shape, dtype, pieces, skip=TAG + start, by_column=True)
        numbers = np.frombuffer(self._element[1][start : start + size], dtype)
        return numbers.reshape(self.shape, order="F")


def _inflated(packed: memoryview, most: int = 0) -> Iterator[bytes]:
    """What a compressed element holds; no more than `most` bytes of each piece. Raises `ValueError`."""
    inflating = zlib.decompressobj()
    for first in range(0, len(packed), PIECE):
        try:
            yield inflating.decompress(packed[first : first + PIECE], most)
        except zlib.error as error:
            raise ValueError(f"its compression is damaged ({error})") from error


def variables(path: Path) -> list[Variable]:
    """Return the variables of a file. Raises `ValueError` if it is damaged."""
    content = np.memmap(path, np.uint8, "r").data
    order = "<" if bytes(content[126:HEADER]) == b"IM" else ">"
    return [Variable(element, order) for element in _elements(content[HEADER:], order)]


def _elements(content: memoryview, order: str) -> Iterator[Element]:
    """The elements side by side: their types, and what they hold."""
    for kind, start, size in _places(content, order):
        if start + size > len(content):
            raise ValueError(ASTRAY)
        yield kind, content[start : start + size]


def _places(content: memoryview, order: str) -> Iterator[tuple[int, int, int]]:
    """Where the elements side by side begin, after a tag of type and size, filled up to 8 bytes.

    Returns:
        Of each its type, its first byte, and how many it says that it has.
    """
    at = 0
    while at < len(content):
        kind, size = (int(number) for number in _numbers((UINT32, content[at : at + TAG]), order, 2))
        start = at + TAG
        if kind >> 16:  # a small element: its type and size share 4 bytes, and the other 4 are what it holds
            kind, size, start = kind & 0xFFFF, kind >> 16, at + 4
        if kind not in {*STORED, *TEXT, MATRIX, COMPRESSED}:
            raise ValueError(ASTRAY)
        yield kind, start, size
        at = start + size if kind == COMPRESSED else -(-(start + size) // 8) * 8


def _matrix(element: Element, order: str, most: int) -> tuple[memoryview, int]:
    """The parts of a variable, of compressed ones as many bytes as `most`, and how many bytes all have."""
    kind, content = element
    if kind == MATRIX:
        return content, len(content)
    if kind != COMPRESSED:
        raise ValueError("something else stands where a variable should be")
    inflated = memoryview(_beginning(content, most + TAG))
    kind, size = (int(number) for number in _numbers((UINT32, inflated[:TAG]), order, 2))
    if kind != MATRIX or len(inflated) < min(size, most) + TAG:
        raise ValueError("what is compressed isn't a whole variable")
    return inflated[TAG : size + TAG], size


def _beginning(packed: memoryview, size: int) -> bytearray:
    """The first bytes of what a compressed element holds, or those that there are. Raises `ValueError`."""
    content = bytearray()
    for piece in _inflated(packed, size):
        content += piece
        if len(content) >= size:
            break
    return content[:size]


def _announced(matrix: memoryview, order: str) -> tuple[int, int, tuple[int, ...], str]:
    """What the first three parts of a variable say: its class, flags, shape and name."""
    parts = list(islice(_elements(matrix, order), 3))
    if len(parts) < 3:
        raise ValueError("a variable is not whole")
    flags = int(_numbers(parts[0], order, 2)[0])
    shape = tuple(int(length) for length in _numbers(parts[1], order))
    if min(shape, default=-1) < 0:
        raise ValueError("a variable has no shape")
    return flags & 0xFF, flags, shape, bytes(parts[2][1]).decode("latin-1")


def _value(matrix: memoryview, order: str, inside: bool = False) -> Any:
    """What a variable holds, see `Variable.value`; structs `inside` others are not entered."""
    kind, flags, shape, _ = _announced(matrix, order)
    parts = list(_elements(matrix, order))[3:]
    if kind in NUMBERS and not flags & COMPLEX and parts:
        return _numbers(parts[0], order, math.prod(shape)).reshape(shape, order="F")
    if kind == CHAR and parts and parts[0][0] in TEXT:
        encoding, ending = TEXT[parts[0][0]], {"<": "-le", ">": "-be"}[order]
        return bytes(parts[0][1]).decode(encoding + ending if encoding in ("utf-16", "utf-32") else encoding)
    if kind == STRUCT and math.prod(shape) == 1 and len(parts) > 1 and not inside:
        width = int(_numbers(parts[0], order, 1)[0])
        text = bytes(parts[1][1]).decode("latin-1")
        names = [text[start : start + width].rstrip("\0") for start in range(0, len(text), max(width, 1))]
        values = [_value(content, order, inside=True) if content else None for _, content in parts[2:]]
        return dict(zip(names, values, strict=True))
    return None


def _numbers(element: Element, order: str, count: int | None = None) -> NDArray[Any]:
    """The numbers of an element. Raises `ValueError` where they are others, or not `count`."""
    kind, content = element
    if kind not in STORED:
        raise ValueError("lacks numbers where they should be")
    numbers = np.frombuffer(content, order + STORED[kind])
    if count not in (None, len(numbers)):
        raise ValueError(f"{len(numbers)} numbers stand where {count} should be")
    return numbers
