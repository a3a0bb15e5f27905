"""MATLAB files of level 5 (before v7.3), read without trusting them.

scipy's reader follows a file's tags in C wherever they lead: a damaged one can end the process. Here every
piece is a slice of the file, and one that leads outside of it or does not hold what its variable announces is
a `ValueError`. Numbers, text and single structs of these are read; cells, objects, sparse matrices are not.

Source: MAT-File Format (The MathWorks), level 5.
"""

import math
import zlib
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = 128
MOST_BYTES = 2 << 30
"""Bytes of a variable: MATLAB's own limit before v7.3. A compressed one could hold far more."""
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

Element = tuple[int, memoryview]
"""The type of an element, and what it holds."""


class Variable:
    """A variable of a file, which knows its name and shape, and is read at the first look.

    Attributes:
        name: as in MATLAB.
        shape: the length of each axis.
        real: whether it holds real numbers.
    """

    def __init__(self, element: Element, order: str) -> None:
        """Read its beginning. Raises `ValueError`."""
        self._element, self._order = element, order
        kind, flags, self.shape, self.name = _announced(_matrix(element, order, BEGINNING), order)
        self.real = kind in NUMBERS and not flags & COMPLEX

    @cached_property
    def value(self) -> Any:
        """Its numbers [*shape], text, fields by name, or None for anything else. Raises `ValueError`."""
        return _value(_matrix(self._element, self._order, MOST_BYTES), self._order)

    def __getitem__(self, key: tuple[slice, ...], /) -> NDArray[Any]:
        if len(key) == len(self.shape) and "value" not in self.__dict__:
            stop = key[-1].indices(self.shape[-1])[1]
            if stop < self.shape[-1]:  # the last axis counts last: the rest is not needed
                return self._beginning(stop)[key]
        found: NDArray[Any] = self.value[key]
        return found

    def _beginning(self, stop: int) -> NDArray[Any]:
        """As much of the array as the last axis has up to `stop`. Raises `ValueError`."""
        count = math.prod(self.shape[:-1]) * stop
        matrix = _matrix(self._element, self._order, BEGINNING + 8 * count)
        parts = list(islice(_elements(matrix, self._order, whole=False), 4))
        if len(parts) < 4 or parts[3][0] not in STORED:
            raise ValueError("a variable is not whole")
        kind, content = parts[3]
        numbers = _numbers((kind, content[: count * np.dtype(STORED[kind]).itemsize]), self._order, count)
        return numbers.reshape((*self.shape[:-1], stop), order="F")


def variables(path: Path) -> list[Variable]:
    """The variables of a file. Raises `ValueError` where it is damaged."""
    content = np.memmap(path, np.uint8, "r").data
    order = "<" if bytes(content[126:HEADER]) == b"IM" else ">"
    return [Variable(element, order) for element in _elements(content[HEADER:], order)]


def _elements(content: memoryview, order: str, whole: bool = True) -> Iterator[Element]:
    """The elements side by side: a tag of type and size, then what it holds, filled up to 8 bytes.

    Unless `whole`, the last of them may end before it says.
    """
    while content:
        kind, size = (int(each) for each in _numbers((UINT32, content[:8]), order, 2))
        start = 8
        if kind >> 16:  # a small element: its type and size share 4 bytes, and the other 4 are what it holds
            kind, size, start = kind & 0xFFFF, kind >> 16, 4
        filled = size if kind == COMPRESSED else -(-(start + size) // 8) * 8 - start
        if kind not in {*STORED, *TEXT, MATRIX, COMPRESSED} or (whole and start + size > len(content)):
            raise ValueError("a piece of it is of no known type, or leads beyond its end")
        yield kind, content[start : start + size]
        content = content[start + filled :]


def _matrix(element: Element, order: str, most: int) -> memoryview:
    """The parts of a variable, or their beginning."""
    kind, content = element
    if kind == MATRIX:
        return content
    if kind != COMPRESSED:
        raise ValueError("something else stands where a variable should be")
    try:
        inflated = memoryview(zlib.decompressobj().decompress(content, most + 8))
    except zlib.error as error:
        raise ValueError(f"its compression is damaged ({error})") from error
    kind, size = (int(each) for each in _numbers((UINT32, inflated[:8]), order, 2))
    if kind != MATRIX or len(inflated) < min(size, most) + 8:
        raise ValueError("what is compressed is no whole variable")
    return inflated[8 : size + 8]


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
        raise ValueError("there are no numbers where they should be")
    numbers = np.frombuffer(content, order + STORED[kind])
    if count not in (None, len(numbers)):
        raise ValueError(f"{len(numbers)} numbers stand where {count} should be")
    return numbers
