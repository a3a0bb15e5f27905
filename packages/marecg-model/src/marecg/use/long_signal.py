"""A recording of hours as the encoder takes it, read and resampled piece by piece.

Shapes: C the twelve leads, K leads as found, L samples.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from marecg.base.config import LEADS, ModelConfig
from marecg.ecg.windows import Recording, check_samples, recording
from marecg.read.record import Record

PIECE = 120
"""Seconds that are read at once: 12 MB as twelve leads at 1000 Hz and double precision."""
MARGIN = 1
"""Seconds before and behind a piece that its resampling sees: its filter is shorter at 50 Hz and above."""


class LongSignal:
    """Samples [C, L] at the encoder's rate of which ever later slices are asked; few are in memory.

    `read` gives so many seconds of the recording from a second on; it has `length` samples per lead at `fs`.
    """

    def __init__(self, read: Callable[..., Record], length: int, fs: float, config: ModelConfig) -> None:
        self._read, self._config = read, config
        self._seconds = length / fs
        self.shape = (len(LEADS), math.ceil(self._seconds * config.fs - 1e-6))
        self._samples, self._first, self._next = np.zeros((len(LEADS), 0), np.float32), 0, 0

    def __getitem__(self, key: tuple[slice, slice], /) -> NDArray[np.float32]:
        start, stop, _ = key[1].indices(self.shape[1])
        while self._first + self._samples.shape[1] < stop:
            let_go = max(0, start - self._config.context - self._first)
            self._samples = np.concatenate([self._samples[:, let_go:], self._piece(self._next)], axis=1)
            self._first += let_go
            self._next += PIECE
        assert start >= self._first, "samples are asked for that were let go"
        return self._samples[:, start - self._first : stop - self._first]

    def _piece(self, start: int) -> NDArray[np.float32]:
        """The piece that begins at a second, without its margins."""
        before = min(start, MARGIN)
        record = self._read(seconds=before + PIECE + MARGIN, start=start - before)
        x_CL = recording(record.x_KL, record.fs, record.leads, self._config).x_CL
        fs = self._config.fs
        x_CL = x_CL[:, before * fs : (before + PIECE) * fs]
        missing = min(PIECE * fs, self.shape[1] - start * fs) - x_CL.shape[1]
        return x_CL if missing <= 0 else np.pad(x_CL, ((0, 0), (0, missing)), "edge")  # by rounding, one


def read_recording(read: Callable[..., Record], config: ModelConfig) -> tuple[Record, Recording]:
    """A record (of a long one its beginning), and the whole of it as the encoder takes it.

    A long one has been read to its end once, so that it is refused before it is half embedded. Raises
    `UsageError` as `marecg.ecg.windows.recording`, and `RecordError`.
    """
    record = read(seconds=PIECE)
    begin = recording(record.x_KL, record.fs, record.leads, config)
    if record.x_KL.shape[1] >= record.length:
        return record, begin
    for start in range(PIECE, math.ceil(record.length / record.fs), PIECE):
        check_samples(read(seconds=PIECE, start=start).x_KL)
    return record, Recording(LongSignal(read, record.length, record.fs, config), begin.absent_C)
