"""Shard of a corpus while it grows: every process writes its records' signals at their places.

Sent back instead they would pass through a pipe, 113 kB each, and through the one process that reads it.

Shapes: C leads, L samples, n records.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ecg_records.record import Candidate
from ecg_records.signal.leads import LEADS
from marecg.base.memory import keep_freed
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare_record import PreparedRecords, prepare_block

HEAD = 128
"""Bytes of the head of a `.npy` file, which numpy makes as long for any number of records."""


NOTES = ".at-*.json"


@contextmanager
def notes(folder: Path) -> Iterator[Callable[[str], None]]:
    """Yield a function that notes the record to be read, in a file that only a killed process leaves."""
    path = folder / NOTES.replace("*", f"{os.getpid():08x}")
    with path.open("wb", buffering=0) as file:

        def note(name: str) -> None:
            written = os.pwrite(file.fileno(), name.encode(errors="replace"), 0)
            os.ftruncate(file.fileno(), written)

        try:
            yield note
        finally:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class ShardWriter:
    """Writer of a shard's `.npy` file of bounded length, shared by processes.

    Written and not mapped: where the disk is full, writing says so, and a map ends the process.
    """

    path: Path
    window: int

    def write(self, signals_nCL: NDArray[np.int16], first: int) -> None:
        """Write the signals of the records from `first` on. Raises `OSError`."""
        with self._opened() as file:
            file.seek(self._place(first))
            file.write(signals_nCL.data)

    def compact(self, block: PreparedRecords, first: int, end: int) -> None:
        """Move a block's signals from `first` to `end`, or write them there if the block holds them."""
        if len(block.signals_nCL):
            self.write(block.signals_nCL, end)
        elif first != end:  # some were quarantined: the others move up
            with self._opened() as file:
                file.seek(self._place(first))
                signals = file.read(self._place(len(block.rows)) - HEAD)
                file.seek(self._place(end))
                file.write(signals)

    def end(self, records: int) -> None:
        """Set the final number of records, and cut off the rest of the file."""
        described = {"descr": "<i2", "fortran_order": False, "shape": (records, len(LEADS), self.window)}
        numpy: Any = np.lib.format  # it has no types
        with self._opened() as file:
            numpy.write_array_header_1_0(file, described)
            file.truncate(self._place(records))

    def _place(self, record: int) -> int:
        return HEAD + record * len(LEADS) * self.window * 2

    def _opened(self) -> BinaryIO:
        """The file, made if need be."""
        return os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o660), "r+b")


def prepare_into(
    shard: ShardWriter | None, first: int, candidates: Sequence[Candidate], config: CorpusConfig
) -> PreparedRecords:
    """Prepare candidates, and write their signals into a shard from the place `first` on.

    Their signals are in the shard then, and no longer in the block; without a shard they stay there.
    """
    keep_freed()  # what one record needs and frees is what the next one needs
    if shard is None:
        return prepare_block(candidates, config)
    with notes(shard.path.parent) as note:
        block = prepare_block(candidates, config, note)
    shard.write(block.signals_nCL, first)
    return replace(block, signals_nCL=block.signals_nCL[:0])
