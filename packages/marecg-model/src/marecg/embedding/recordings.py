"""Embeddings of records one by one, with the reasons of unusable records.

Recordings of hours are read and resampled piece by piece.
Shapes: C the twelve leads, K leads as found, L samples.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecg_records.notes import reported
from ecg_records.record import Record, as_text
from ecg_records.signal.leads import LEADS
from ecg_records.signal.samples import amplitude_doubt
from marecg.embedding.embed import WideEmbeddings, encode
from marecg.embedding.inputs import Unread
from marecg.errors import InputError, Reason, RecordError, SourceGoneError, UsageError
from marecg.model.config import ModelConfig
from marecg.model.mar_ecg import MarEcg
from marecg.model.readout import Readout
from marecg.model.windows import Recording, check_samples, recording

PIECE = 120
"""Seconds that are read at once: 12 MB as twelve leads at 1000 Hz and double precision."""
MARGIN = 1
"""Seconds before and after a piece that its resampling includes. The filter is shorter at 50 Hz and above."""


class LongSignal:
    """Recording that is resampled piece by piece. Slices are read in increasing order from a short buffer.

    Args:
        read: reads `seconds` of the recording from the second `start` on.
        length: samples per lead of the recording.
        fs: its sampling rate in Hz.
        config: the encoder's sampling rate and context.
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
        """Return the piece that begins at the second `start`, without its margins."""
        before = min(start, MARGIN)
        record = self._read(seconds=before + PIECE + MARGIN, start=start - before)
        x_CL = recording(record.x_KL, record.fs, record.leads, self._config).x_CL
        fs = self._config.fs
        x_CL = x_CL[:, before * fs : (before + PIECE) * fs]
        missing = min(PIECE * fs, self.shape[1] - start * fs) - x_CL.shape[1]
        return (
            x_CL if missing <= 0 else np.pad(x_CL, ((0, 0), (0, missing)), "edge")
        )  # rounding may lose a sample


def read_recording(read: Callable[..., Record], config: ModelConfig) -> tuple[Record, Recording]:
    """Read a record, or the beginning of a long one, and prepare the whole recording as encoder input.

    A long recording is read to its end once, so that a damaged one is refused before it is half embedded.
    Raises `UsageError` as `marecg.model.windows.recording` does, and `RecordError`.
    """
    record = read(seconds=PIECE)
    begin = recording(record.x_KL, record.fs, record.leads, config)
    if record.x_KL.shape[1] >= record.length:
        return record, begin
    for start in range(PIECE, math.ceil(record.length / record.fs), PIECE):
        check_samples(read(seconds=PIECE, start=start).x_KL)
    return record, Recording(LongSignal(read, record.length, record.fs, config), begin.absent_C)


@dataclass
class Embedded:
    """Outcome of embedding: the number of embedded records, and the reasons of failures and doubts.

    Attributes:
        records: number of embedded records.
        failed: reason of each unreadable record, by name.
        doubtful: doubts about each embedded record, by name.
        unavailable: names in `failed` that the file system couldn't provide; they can be tried again.
    """

    records: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)
    unavailable: set[str] = field(default_factory=set)

    def add(self, other: "Embedded") -> None:
        """Add the counts of other records."""
        self.records += other.records
        self.failed |= other.failed
        self.doubtful |= other.doubtful
        self.unavailable |= other.unavailable

    def refuse_none(self) -> None:
        """Raise `InputError` with the first reason if every record failed."""
        if self.failed and not self.records:
            first = next(iter(self.failed.values()))
            raise InputError(f"no record could be read; the first error is: {first}")


def readable(
    records: Iterable[Unread], config: ModelConfig, done: Embedded
) -> Iterator[tuple[dict[str, Any], Recording]]:
    """Read records one by one. Yield each record's row and its signal, and collect all outcomes in `done`."""
    for name, place, read in records:
        try:
            record, ecg = read_recording(read, config)
        except SourceGoneError:
            raise
        except InputError as error:
            done.failed[name] = as_text(str(error))
            if isinstance(error, RecordError) and error.reason == Reason.unavailable:
                done.unavailable.add(name)
            continue
        except UsageError as error:
            refused = InputError(error.problem, where=place, remedy=error.remedy)
            done.failed[name] = as_text(str(refused))
            continue
        doubts = [amplitude_doubt(record.x_KL), *reported(record.notes)]
        if any(doubts):
            done.doubtful[name] = "; ".join(filter(None, doubts))
        done.records += 1
        row = {"record": record.id, "source": record.source, "patient": record.patient, "start": record.start}
        yield {"id": name, **row, "codes": list(record.codes)}, ecg


def embedded(
    model: MarEcg,
    records: Iterable[Unread],
    done: Embedded,
    batch_size: int,
    *,
    readout: Readout = "wide",
    patches: bool,
) -> Iterator[tuple[dict[str, Any], WideEmbeddings]]:
    """Yield each record's row and vectors, and collect all outcomes in `done`."""
    waiting: deque[dict[str, Any]] = deque()  # `encode` reads ahead: the windows of records share batches

    def signals() -> Iterator[Recording]:
        for row, ecg in readable(records, model.config, done):
            waiting.append(row)
            yield ecg

    for vectors in encode(model, signals(), batch_size, readout=readout, patches=patches):
        yield waiting.popleft(), vectors
