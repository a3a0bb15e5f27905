"""Read records one at a time and compute their embeddings. Unusable records are collected with the reason.

Long recordings are read and resampled piece by piece.

Shapes: C the twelve leads, K leads in the file, L samples.
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

PIECE_S = 120
"""Length of a piece in seconds. Twelve leads at 1000 Hz take 12 MB in double precision."""
MARGIN_S = 1
"""Seconds before and after a piece that are resampled with it.

For recordings with a sampling rate of at least 50 Hz, the resampling filter is shorter.
"""


class LongSignal:
    """Long recording that is read and resampled piece by piece. Slices must be read in increasing order.

    Args:
        read: Function that reads a part of the recording. Its arguments are `seconds` and `start`.
        length: Number of samples per lead in the file.
        fs: Sampling rate of the file in Hz.
        config: Settings of the encoder.
    """

    def __init__(self, read: Callable[..., Record], length: int, fs: float, config: ModelConfig) -> None:
        self._read, self._config = read, config
        self._seconds = length / fs
        self.shape = (len(LEADS), math.ceil(self._seconds * config.fs - 1e-6))
        self._samples, self._first, self._next = np.zeros((len(LEADS), 0), np.float32), 0, 0

    def __getitem__(self, key: tuple[slice, slice], /) -> NDArray[np.float32]:
        start, stop, _ = key[1].indices(self.shape[1])
        while self._first + self._samples.shape[1] < stop:
            dropped = max(0, start - self._config.context - self._first)
            self._samples = np.concatenate([self._samples[:, dropped:], self._piece(self._next)], axis=1)
            self._first += dropped
            self._next += PIECE_S
        assert start >= self._first, "slices must be read in increasing order"
        return self._samples[:, start - self._first : stop - self._first]

    def _piece(self, start: int) -> NDArray[np.float32]:
        """Return the piece that begins at `start` seconds, without its margins."""
        before = min(start, MARGIN_S)
        record = self._read(seconds=before + PIECE_S + MARGIN_S, start=start - before)
        x_CL = recording(record.x_KL, record.fs, record.leads, self._config).x_CL
        fs = self._config.fs
        x_CL = x_CL[:, before * fs : (before + PIECE_S) * fs]
        missing = min(PIECE_S * fs, self.shape[1] - start * fs) - x_CL.shape[1]
        # Rounding may lose a sample.
        return x_CL if missing <= 0 else np.pad(x_CL, ((0, 0), (0, missing)), "edge")


def read_recording(read: Callable[..., Record], config: ModelConfig) -> tuple[Record, Recording]:
    """Read a record, and convert it to the encoder's input.

    If the recording is longer than `PIECE_S`, the returned `Record` has only its beginning. The recording is
    checked to its end, so that a damaged recording is refused before it is embedded.

    Args:
        read: Function that reads a part of the recording. Its arguments are `seconds` and `start`.
        config: Settings of the encoder.

    Raises:
        UsageError: If the recording is shorter than a patch, or a sample or the sampling rate is impossible.
        RecordError: If `read` can't read the record.
    """
    record = read(seconds=PIECE_S)
    begin = recording(record.x_KL, record.fs, record.leads, config)
    if record.x_KL.shape[1] >= record.length:
        return record, begin
    for start in range(PIECE_S, math.ceil(record.length / record.fs), PIECE_S):
        check_samples(read(seconds=PIECE_S, start=start).x_KL)
    return record, Recording(LongSignal(read, record.length, record.fs, config), begin.absent_C)


@dataclass
class Embedded:
    """Outcome of computing embeddings.

    Attributes:
        records: Number of embedded records.
        failed: Reasons why records couldn't be embedded, by the name of the record.
        doubtful: Warnings about embedded records, by the name of the record.
        unavailable: Names of the records in `failed` that couldn't be reached. They can be tried again.
    """

    records: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)
    unavailable: set[str] = field(default_factory=set)

    def add(self, other: "Embedded") -> None:
        """Add the outcome of other records."""
        self.records += other.records
        self.failed |= other.failed
        self.doubtful |= other.doubtful
        self.unavailable |= other.unavailable

    def refuse_none(self) -> None:
        """Raise `InputError` if no record could be embedded."""
        if self.failed and not self.records:
            first = next(iter(self.failed.values()))
            raise InputError(f"no record could be read; the first error is: {first}")


def readable(
    records: Iterable[Unread], config: ModelConfig, done: Embedded
) -> Iterator[tuple[dict[str, Any], Recording]]:
    """Read records one at a time. Yield the description and the signal of each usable record.

    The description has values of `embedding_files.RECORD_FIELDS` by name, except the two hashes.

    Args:
        records: Records to read.
        config: Settings of the encoder.
        done: Outcome, to which each record is added.
    """
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
    """Read records. Yield the description (as `readable` does) and embeddings of each usable record.

    Args:
        model: Model.
        records: Records to read.
        done: Outcome, to which each record is added.
        batch_size: Number of windows per forward pass.
        readout: Readout to compute.
        patches: Whether to compute patch embeddings (H̄).
    """
    # Fields of records that `encode` has read, but not yet embedded, because a batch has several records.
    waiting: deque[dict[str, Any]] = deque()

    def signals() -> Iterator[Recording]:
        for row, ecg in readable(records, model.config, done):
            waiting.append(row)
            yield ecg

    for vectors in encode(model, signals(), batch_size, readout=readout, patches=patches):
        yield waiting.popleft(), vectors
