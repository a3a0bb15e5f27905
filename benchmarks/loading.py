"""The loader: whole batches from memory maps, beside a DataLoader that reads one WFDB record after another.

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
"""Of ours to one of the baseline's, so that both turns are long enough to time."""


class WfdbRecords(Dataset[Tensor]):
    """Records read as they are asked for, cut or padded to the window; nothing is resampled or detected."""

    def __init__(self, names: list[str], window: int) -> None:
        self.names = names
        self.window = window

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, place: int) -> Tensor:
        signal_LC = wfdb.rdrecord(self.names[place]).p_signal[: self.window]
        x_CL = np.zeros((len(LEADS), self.window), np.float32)
        x_CL[:, : len(signal_LC)] = signal_LC.T
        return torch.from_numpy(x_CL)


def loader(effort: Effort) -> list[float]:
    """Records per second of ours, supervision included, over the DataLoader's."""
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


ROWS = (Row("loader", "loader, records/s", "per-item wfdb DataLoader", Reach("≥", 100), "memcpy", loader),)
