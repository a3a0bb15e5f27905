"""Arrays that are packed as a whole, read from their beginning on; what is not asked for is let go."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Any
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

Slices = tuple[slice, ...]
MOST_READS = 4096
"""Pieces that a block is fetched in; of more, what lies between them is read as well, but not kept."""
AT_ONCE = 1 << 24
"""Bytes that are read at once where not all of them are kept."""
WORTH_A_FILE = 1 << 26
"""Bytes of an array; a smaller one is unpacked again."""


class Packed(ABC):
    """An array on disk of which a block is cut by a slice for each of its first axes.

    Args:
        shape: the length of each axis.
        dtype: of its numbers.
        by_column: whether they lie with the first axis fastest, else with the last.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], by_column: bool) -> None:
        if min(shape, default=0) < 0:
            raise ValueError("has an axis of negative length")
        self.shape, self.dtype, self._by_column = shape, dtype, by_column
        self._at = 0
        self._unpacked: IO[bytes] | None = None

    @abstractmethod
    def unpack(self, first: int, count: int) -> NDArray[Any]:
        """So many numbers from one on, as they lie. Raises `ValueError` where there are fewer."""

    def read(self, first: int, count: int) -> NDArray[Any]:
        """The same; what is large and gone back in is unpacked once, to a file that has no name."""
        size = self.dtype.itemsize
        if self._unpacked is None and first < self._at and math.prod(self.shape) * size > WORTH_A_FILE:
            self._unpacked = self._to_file()
        if self._unpacked is not None:
            self._unpacked.seek(first * size)
            return np.frombuffer(self._unpacked.read(count * size), self.dtype, count)
        self._at = first + count
        return self.unpack(first, count)

    def _to_file(self) -> IO[bytes]:
        file = TemporaryFile()  # noqa: SIM115 — open for as long as this array
        step, count = AT_ONCE // self.dtype.itemsize, math.prod(self.shape)
        finalize(self, file.close)
        for first in range(0, count, step):
            file.write(self.unpack(first, min(step, count - first)).tobytes())
        return file

    def __getitem__(self, key: Slices, /) -> NDArray[Any]:
        whole = (slice(None),) * (len(self.shape) - len(key))
        bounds = [each.indices(size)[:2] for each, size in zip((*key, *whole), self.shape, strict=True)]
        if self._by_column:
            return self._block(self.shape[::-1], bounds[::-1], 0).T
        return self._block(self.shape, bounds, 0)

    def _block(self, shape: tuple[int, ...], bounds: list[tuple[int, int]], begin: int) -> NDArray[Any]:
        """A block of what begins at element `begin` with the last axis fastest, in few reads."""
        (first, stop), inner = bounds[0], math.prod(shape[1:])
        if all(each == (0, size) for each, size in zip(bounds[1:], shape[1:], strict=True)):
            return self._whole(shape, bounds[0], begin)
        if (stop - first) * math.prod(end - start for start, end in bounds[1:-1]) > MOST_READS:
            step = max(1, AT_ONCE // max(inner * self.dtype.itemsize, 1))
            cut = tuple(slice(*each) for each in bounds[1:])
            rows = ((row, min(row + step, stop)) for row in range(first, stop, step))
            return np.concatenate(
                [self._whole(shape, each, begin)[(slice(None), *cut)].copy() for each in rows]
            )
        each_row = (self._block(shape[1:], bounds[1:], begin + row * inner) for row in range(first, stop))
        return np.stack(list(each_row))

    def _whole(self, shape: tuple[int, ...], rows: tuple[int, int], begin: int) -> NDArray[Any]:
        """All of some rows."""
        inner = math.prod(shape[1:])
        flat = self.read(begin + rows[0] * inner, (rows[1] - rows[0]) * inner)
        return flat.reshape(rows[1] - rows[0], *shape[1:])


class ForwardRows(ABC):
    """One record [samples, leads] whose rows come in blocks, read through a forward cursor."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = (rows, columns)
        self._rows: NDArray[Any]
        self._restart()

    @abstractmethod
    def blocks(self) -> Iterator[NDArray[Any]]:
        """All rows, some at a time."""

    def __getitem__(self, key: Slices, /) -> NDArray[Any]:
        start, stop, _ = key[0].indices(self.shape[0])
        if start < self._first:
            self._restart()
        while self._first + len(self._rows) < stop:
            let_go = min(len(self._rows), start - self._first)
            self._rows = np.concatenate([self._rows[let_go:], next(self._blocks)])
            self._first += let_go
        return self._rows[start - self._first : stop - self._first][(slice(None), *key[1:])]

    def _restart(self) -> None:
        self._blocks, self._first = self.blocks(), 0
        self._rows = np.zeros((0, self.shape[1]))
