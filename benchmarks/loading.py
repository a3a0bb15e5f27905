"""Measure our loader, which reads batches from memory maps, relative to a DataLoader of WFDB records.

Shapes: C leads, L samples.
"""

import numpy as np
import torch
import wfdb
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.corpora import prepared, records
from benchmarks.ratio import Effort, Reach, Row, speedups
from ecg_records.readers.discovery import find
from ecg_records.signal.leads import LEADS
from marecg.corpus.batches import BatchStream
from marecg.corpus.config import CorpusConfig
from marecg.recipes import c3
from marecg.train.data import supervise

RECORDS, BATCH = 512, 64
EPOCHS = 20
"""Number of epochs of our loader for each epoch of the baseline, so that both turns are long enough."""


class WfdbRecords(Dataset[Tensor]):
    """WFDB records, cut or padded to the window. They aren't resampled, and no beats are detected."""

    def __init__(self, names: list[str], window: int) -> None:
        self.names = names
        self.window = window

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> Tensor:
        signal_LC = wfdb.rdrecord(self.names[number]).p_signal[: self.window]
        x_CL = np.zeros((len(LEADS), self.window), np.float32)
        x_CL[:, : len(signal_LC)] = signal_LC.T
        return torch.from_numpy(x_CL)


def loader(effort: Effort) -> list[float]:
    """Return the records per second of our loader, including supervision, relative to the DataLoader."""
    number = effort.of(RECORDS)
    corpus = prepared(number)
    supervision = supervise(c3(), corpus, corpus.ontology())
    batches = EPOCHS * len(corpus) // BATCH
    names = [str(candidate.file.with_suffix("")) for candidate in find([records(number)])]
    plain = DataLoader(WfdbRecords(names, CorpusConfig().window), BATCH, shuffle=True)
    rates = speedups(
        lambda: list(map(len, BatchStream(corpus, supervision, BATCH, batches, seed=0))),
        lambda: list(map(len, plain)),
        effort,
    )
    return [rate * batches * BATCH / len(names) for rate in rates]


ROWS = (
    Row(
        "loader",
        "our loader, records/s",
        "DataLoader of WFDB files, records/s",
        Reach("≥", 100),
        "copying memory",
        loader,
    ),
)
