"""PyTorch dataset of a corpus. Signals stay on disk (memory maps) until they are requested.

Shapes: C leads, L samples, N concepts, B batch, M records.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import Dataset, Subset

from ecg_records.readers.identity import patient_of
from marecg.errors import UsageError

LABELS = ("leaves", "primary")
HASH_FOLDS = 10


class Sample(NamedTuple):
    """Record with its label. A `DataLoader` makes batches with the same fields.

    `MarEcg.forward` accepts the fields `x` and `n_valid` of a batch.

    Attributes:
        x: float32 [12, L] in mV, zero after the first `n_valid` samples.
        n_valid: Number of samples before the zero-padding.
        y: Label, 0 if unknown.
        known: False if the label is unknown.
        fold: Number from 0 to 9, for example to separate training from testing. All records of a patient have
            the same fold.
    """

    x: Tensor
    n_valid: Tensor
    y: Tensor
    known: Tensor
    fold: Tensor


class RecordDataset(Dataset[Any]):
    """Map-style dataset with a `Sample` for each record.

    Each worker of a `DataLoader` opens the corpus itself, and reads the signals of a batch in a single call.

    Args:
        corpus: Prepared corpus.
        labels: Labels of the records, in any form accepted by `Corpus.torch`.

    Attributes:
        folds: int64 [M], the fold of each record.

    Raises:
        UsageError: If the labels are invalid.
    """

    def __init__(self, corpus: Any, labels: ArrayLike | str | None = "leaves") -> None:
        if labels is None:
            labels = np.zeros((len(corpus), 0), np.float32)
        elif isinstance(labels, str):
            if labels not in LABELS:
                remedy = f"Choose {', '.join(LABELS)}, None, or give an array"
                raise UsageError(f"unknown labels {labels!r}", remedy=remedy)
            labels = corpus.y.astype(np.float32) if labels == "leaves" else corpus.primary
        self.corpus, self.labels = corpus, np.asarray(labels)
        if len(self.labels) != len(corpus) or self.labels.dtype.kind not in "biuf":
            found = f"{self.labels.dtype} {self.labels.shape} for {len(corpus)} records"
            problem = f"labels must have one number, or one row of numbers, per record: got {found}"
            raise UsageError(problem)
        records = zip(corpus.sources, corpus.ids, corpus.patients, strict=True)
        names = [patient_of(source, patient) or f"{source}/{record}" for source, record, patient in records]
        self.folds = np.array([fold_of(name) for name in names], np.int64)

    def of_folds(self, *folds: int) -> Subset[Any]:
        """Return the records of some folds, for example `of_folds(8, 9)` for testing."""
        return Subset(self, np.flatnonzero(np.isin(self.folds, folds)).tolist())

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, record: int) -> Sample:
        """Return a record by its index. Negative indices count from the end."""
        return self.__getitems__([range(len(self))[record]])[0]

    def __getitems__(self, records: list[int]) -> list[Sample]:
        """Return the records of a batch. `DataLoader` calls this method."""
        rows = np.asarray(records)
        y = self.labels[rows]
        is_known = np.isfinite(y)
        y = np.where(is_known, y, 0).astype(np.float32 if y.dtype.kind == "f" else np.int64)
        parts = (self.corpus.signals(rows), self.corpus.n_valid[rows], y, is_known, self.folds[rows])
        return [Sample(*sample) for sample in zip(*map(torch.as_tensor, parts), strict=True)]


def fold_of(name: str) -> int:
    """Return the fold of a patient or record, 0 to 9, from a hash of its name.

    `marecg probe --task corpus` trains on folds 0 to 5, validates on folds 6 and 7, and tests on folds 8 and
    9.
    """
    return int(HASH_FOLDS * (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) / 2**64))
