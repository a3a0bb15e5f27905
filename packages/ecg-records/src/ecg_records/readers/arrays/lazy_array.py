"""Decompress arrays once into an unnamed temporary file, and map the file into memory."""

import math
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.readers.arrays.clock import Clock

Slices = tuple[slice, ...]


class Unpacked:
    """Compressed array that is decompressed on first use, piece by piece.

    Args:
        shape: Shape of the array.
        dtype: Type of the numbers.
        pieces: Function that returns the decompressed bytes in pieces, or raises `ValueError`.
        skip: Number of bytes before the array.
        by_column: Whether the first axis varies fastest (Fortran order).
        leads: Lead names, if the file states them.
        unused: Names of signals that aren't read, if the file states them.
        clocks: Time columns of the records, if the file has them.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        pieces: Callable[[], Iterable[bytes]],
        *,
        skip: int = 0,
        by_column: bool = False,
        leads: tuple[str, ...] = (),
        unused: tuple[str, ...] = (),
        clocks: tuple[Clock, ...] = (),
    ) -> None:
        if min(shape, default=0) < 0:
            raise ValueError("has an axis of negative length")
        self.shape, self.dtype, self.leads, self.unused, self.clocks = shape, dtype, leads, unused, clocks
        self._pieces, self._skip, self._by_column = pieces, skip, by_column

    def __getitem__(self, key: Slices, /) -> NDArray[Any]:
        return self._mapped[key]

    @cached_property
    def _mapped(self) -> NDArray[Any]:
        if 0 in self.shape:
            return np.zeros(self.shape, self.dtype)
        try:
            return self._unpacked()
        except ValueError as error:  # don't unpack a damaged file again for each record
            self._pieces = partial(_refuse, str(error))
            raise

    def _unpacked(self) -> NDArray[Any]:
        missing = self._skip + math.prod(self.shape) * self.dtype.itemsize
        with TemporaryFile(buffering=0) as file:  # the map keeps the file alive
            for piece in self._pieces():
                missing -= file.write(piece[:missing])
                if not missing:
                    break
            if missing:
                raise ValueError("the file ends before the end of its array")
            order = "F" if self._by_column else "C"
            return np.memmap(file, self.dtype, "r", self._skip, self.shape, order)  # type: ignore[call-overload,no-any-return]


def _refuse(problem: str) -> Iterable[bytes]:
    raise ValueError(problem)
