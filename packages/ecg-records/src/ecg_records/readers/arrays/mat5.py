"""Read MATLAB files of level 5 (before v7.3), and check every element.

scipy's reader trusts the sizes in a file, so a damaged file can crash the process. Here, an element that
exceeds the file or contradicts the header of its variable raises `ValueError`. Numbers, text, and single
structs of numbers and text are read. Cells, objects and sparse matrices are ignored.

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
"""Number of bytes that hold the type and size of an element."""
VARIABLE_BYTES = 1 << 28
"""Maximum size of a struct or a text in bytes, because it is read completely. A compressed element can be
larger."""
PIECE = 1 << 12
"""Number of bytes to inflate at a time. The result is at most a thousand times as large."""
BEGINNING = 1 << 10
"""Number of bytes that certainly include the flags, dimensions and name of a variable."""
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""NumPy types by type of element. MATLAB stores numbers in the smallest type that can hold them."""
TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
"""Encodings of text by type of element."""
UINT32, MATRIX, COMPRESSED = 6, 14, 15
STRUCT, CHAR, NUMBERS = 2, 4, range(6, 16)
"""Classes of variables."""
COMPLEX = 0x800
"""Flag of numbers with an imaginary part."""

ASTRAY = "an element has an unknown type, or extends beyond the end of the file"

Element = tuple[int, memoryview]
"""Type and content of an element."""


class Variable:
    """Variable of a file: name, shape, and whether it holds real numbers. Values are read on demand."""

    def __init__(self, element: Element, order: str) -> None:
        """Read the start of the variable. `order` is the byte order, `<` or `>`. Raises `ValueError`."""
        self._element, self._order = element, order
        array_class, flags, self.shape, self.name = _announced(_matrix(element, order, BEGINNING)[0], order)
        self.real = array_class in NUMBERS and not flags & COMPLEX

    @cached_property
    def value(self) -> Any:
        """Return an array, a text, a struct's fields by name, or None for other types.

        Raises `ValueError` if the value is damaged.
        """
        if self.real:
            return self[(slice(None),) * len(self.shape)]
        return _value(_matrix(self._element, self._order, VARIABLE_BYTES)[0], self._order)

    def __getitem__(self, key: Slices, /) -> NDArray[Any]:
        return self._numbers[key]

    @cached_property
    def _numbers(self) -> NDArray[Any] | Unpacked:
        """Return the numbers, which are read from disk on demand. Raises `ValueError`."""
        matrix, length = _matrix(self._element, self._order, BEGINNING)
        places = list(islice(_places(matrix, self._order), 4))
        if len(places) < 4 or places[3][0] not in STORED or places[3][1] + places[3][2] > length:
            raise ValueError("a variable is incomplete")
        element_type, start, size = places[3]
        dtype, count = np.dtype(self._order + STORED[element_type]), math.prod(self.shape)
        if size != count * dtype.itemsize:
            raise ValueError(f"a variable must have {count} numbers, got {size / dtype.itemsize:g}")
        if self._element[0] == COMPRESSED:
            pieces = partial(_inflated, self._element[1])
            return Unpacked(self.shape, dtype, pieces, skip=TAG + start, by_column=True)
        numbers = np.frombuffer(self._element[1][start : start + size], dtype)
        return numbers.reshape(self.shape, order="F")


def _inflated(packed: memoryview, most: int = 0) -> Iterator[bytes]:
    """Inflate a compressed element piece by piece.

    If `most` isn't 0, only the first `most` bytes of each inflated piece are yielded. Raises `ValueError` if
    the content is damaged.
    """
    inflating = zlib.decompressobj()
    for first in range(0, len(packed), PIECE):
        try:
            yield inflating.decompress(packed[first : first + PIECE], most)
        except zlib.error as error:
            raise ValueError(f"the compressed content is damaged ({error})") from error


def variables(path: Path) -> list[Variable]:
    """Return the variables of a file. Raises `ValueError` if it is damaged."""
    content = np.memmap(path, np.uint8, "r").data
    order = "<" if bytes(content[126:HEADER]) == b"IM" else ">"
    return [Variable(element, order) for element in _elements(content[HEADER:], order)]


def _elements(content: memoryview, order: str) -> Iterator[Element]:
    """Yield type and content of consecutive elements."""
    for element_type, start, size in _places(content, order):
        if start + size > len(content):
            raise ValueError(ASTRAY)
        yield element_type, content[start : start + size]


def _places(content: memoryview, order: str) -> Iterator[tuple[int, int, int]]:
    """Yield type, first byte and stated size of consecutive elements.

    Before each element is a tag with its type and size. Elements are padded to a multiple of 8 bytes.
    """
    position = 0
    while position < len(content):
        element_type, size = (
            int(number) for number in _numbers((UINT32, content[position : position + TAG]), order, 2)
        )
        start = position + TAG
        if element_type >> 16:  # a small element: type and size share 4 bytes, the other 4 are the content
            element_type, size, start = element_type & 0xFFFF, element_type >> 16, position + 4
        if element_type not in {*STORED, *TEXT, MATRIX, COMPRESSED}:
            raise ValueError(ASTRAY)
        yield element_type, start, size
        position = start + size if element_type == COMPRESSED else -(-(start + size) // 8) * 8


def _matrix(element: Element, order: str, most: int) -> tuple[memoryview, int]:
    """Return the content of a variable and its size in bytes.

    If the element is compressed, only the first `most` bytes of the content are inflated.
    """
    element_type, content = element
    if element_type == MATRIX:
        return content, len(content)
    if element_type != COMPRESSED:
        raise ValueError("expected a variable, got another element")
    inflated = memoryview(_beginning(content, most + TAG))
    element_type, size = (int(number) for number in _numbers((UINT32, inflated[:TAG]), order, 2))
    if element_type != MATRIX or len(inflated) < min(size, most) + TAG:
        raise ValueError("a compressed variable is incomplete")
    return inflated[TAG : size + TAG], size


def _beginning(packed: memoryview, size: int) -> bytearray:
    """Inflate up to `size` bytes from the start of a compressed element. Raises `ValueError`."""
    content = bytearray()
    for piece in _inflated(packed, size):
        content += piece
        if len(content) >= size:
            break
    return content[:size]


def _announced(matrix: memoryview, order: str) -> tuple[int, int, tuple[int, ...], str]:
    """Return the class, flags, shape and name that the header of a variable states."""
    parts = list(islice(_elements(matrix, order), 3))
    if len(parts) < 3:
        raise ValueError("a variable is incomplete")
    flags = int(_numbers(parts[0], order, 2)[0])
    shape = tuple(int(length) for length in _numbers(parts[1], order))
    if min(shape, default=-1) < 0:
        raise ValueError("a variable has no valid shape")
    return flags & 0xFF, flags, shape, bytes(parts[2][1]).decode("latin-1")


def _value(matrix: memoryview, order: str, inside: bool = False) -> Any:
    """Return the value of a variable, as `Variable.value` does. Structs inside other structs give None."""
    array_class, flags, shape, _ = _announced(matrix, order)
    parts = list(_elements(matrix, order))[3:]
    if array_class in NUMBERS and not flags & COMPLEX and parts:
        return _numbers(parts[0], order, math.prod(shape)).reshape(shape, order="F")
    if array_class == CHAR and parts and parts[0][0] in TEXT:
        encoding, ending = TEXT[parts[0][0]], {"<": "-le", ">": "-be"}[order]
        return bytes(parts[0][1]).decode(encoding + ending if encoding in ("utf-16", "utf-32") else encoding)
    if array_class == STRUCT and math.prod(shape) == 1 and len(parts) > 1 and not inside:
        width = int(_numbers(parts[0], order, 1)[0])
        text = bytes(parts[1][1]).decode("latin-1")
        names = [text[start : start + width].rstrip("\0") for start in range(0, len(text), max(width, 1))]
        values = [_value(content, order, inside=True) if content else None for _, content in parts[2:]]
        return dict(zip(names, values, strict=True))
    return None


def _numbers(element: Element, order: str, count: int | None = None) -> NDArray[Any]:
    """Return the numbers of an element. Raises `ValueError` for other types and other counts than `count`."""
    element_type, content = element
    if element_type not in STORED:
        raise ValueError("expected numbers, got another element")
    numbers = np.frombuffer(content, order + STORED[element_type])
    if count not in (None, len(numbers)):
        raise ValueError(f"an element must have {count} numbers, got {len(numbers)}")
    return numbers
