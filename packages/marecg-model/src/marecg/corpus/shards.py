"""Write a shard, a file with the signals of many records. Each process writes into the file itself.

Otherwise, the processes would have to send 113 kB per record through pipes to a single writing process.

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
"""Pattern of the files in which processes note the record that they are reading."""


@contextmanager
def notes(folder: Path) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes the name of the current record to a file.

    The file is removed at the end. If it remains, the process was killed while it read this record.
    """
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
    """Writer of a shard's `.npy` file, which several processes use at the same time.

    The file isn't mapped into memory. On a full disk, a write to a map would kill the process.
    """

    path: Path
    window: int

    def write(self, signals_nCL: NDArray[np.int16], first: int) -> None:
        """Write the signals of consecutive records, starting at record `first`. Raises `OSError`."""
        with self._opened() as file:
            file.seek(self._offset(first))
            file.write(signals_nCL.data)

    def compact(self, block: PreparedRecords, first: int, end: int) -> None:
        """Write the signals of a block directly after the records kept so far, starting at record `end`.

        If the block has no signals, a process has already written them to the file, starting at record
        `first`. Then they are moved.
        """
        if len(block.signals_nCL):
            self.write(block.signals_nCL, end)
        elif first != end:  # close the gap left by quarantined records
            with self._opened() as file:
                file.seek(self._offset(first))
                signals = file.read(self._offset(len(block.rows)) - HEAD)
                file.seek(self._offset(end))
                file.write(signals)

    def end(self, records: int) -> None:
        """Write the header with the final number of records, and truncate the file."""
        described = {"descr": "<i2", "fortran_order": False, "shape": (records, len(LEADS), self.window)}
        numpy: Any = np.lib.format  # it has no types
        with self._opened() as file:
            numpy.write_array_header_1_0(file, described)
            file.truncate(self._offset(records))

    def _offset(self, record: int) -> int:
        """Return the position of a record in the file, in bytes."""
        return HEAD + record * len(LEADS) * self.window * 2

    def _opened(self) -> BinaryIO:
        """Open the file, and create it if it doesn't exist."""
        return os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o660), "r+b")


def prepare_into(
    shard: ShardWriter | None, first: int, candidates: Sequence[Candidate], config: CorpusConfig
) -> PreparedRecords:
    """Prepare candidates, and write their signals into a shard, starting at record `first`.

    The returned records have no signals, because the shard has them. If `shard` is None, nothing is written,
    and the returned records have their signals.
    """
    keep_freed()  # the next record can reuse the memory, because each record needs the same amount
    if shard is None:
        return prepare_block(candidates, config)
    with notes(shard.path.parent) as note:
        block = prepare_block(candidates, config, note)
    shard.write(block.signals_nCL, first)
    return replace(block, signals_nCL=block.signals_nCL[:0])
