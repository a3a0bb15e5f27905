"""Shard of a corpus during preparation. Every process writes the signals of its records into the file.

Otherwise, 113 kB per record would pass through a pipe and a single reading process.

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
"""Bytes of the header of a `.npy` file. numpy pads it to this length for any number of records."""


NOTES = ".at-*.json"


@contextmanager
def notes(folder: Path) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes a record's name to a file, which only a killed process leaves."""
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

    The file is written and not mapped. On a full disk, a write raises an error, but a map kills the process.
    """

    path: Path
    window: int

    def write(self, signals_nCL: NDArray[np.int16], first: int) -> None:
        """Write the signals of consecutive records, starting at record `first`. Raises `OSError`."""
        with self._opened() as file:
            file.seek(self._place(first))
            file.write(signals_nCL.data)

    def compact(self, block: PreparedRecords, first: int, end: int) -> None:
        """Move a block's signals from record `first` to `end`, or write them to `end` from the block."""
        if len(block.signals_nCL):
            self.write(block.signals_nCL, end)
        elif first != end:  # close the gap left by quarantined records
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
        """Open the file, and create it if it doesn't exist."""
        return os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o660), "r+b")


def prepare_into(
    shard: ShardWriter | None, first: int, candidates: Sequence[Candidate], config: CorpusConfig
) -> PreparedRecords:
    """Prepare candidates, and write their signals into a shard, starting at record `first`.

    If there is a shard, the returned records have no signals, because the shard has them.
    """
    keep_freed()  # the next record needs the memory that a record frees
    if shard is None:
        return prepare_block(candidates, config)
    with notes(shard.path.parent) as note:
        block = prepare_block(candidates, config, note)
    shard.write(block.signals_nCL, first)
    return replace(block, signals_nCL=block.signals_nCL[:0])
