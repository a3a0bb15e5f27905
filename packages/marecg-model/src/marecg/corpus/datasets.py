"""Corpus as a dataset of other libraries: torch (map-style) and Hugging Face.

Shapes: C leads, L samples, N concepts, B batch.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from marecg.base.errors import UsageError

LABELS = ("leaves", "primary")


class RecordDataset(Dataset[Any]):
    """Map-style dataset of (x_CL, label) or x_CL: float32 [12, L] in mV, zero-padded.

    `labels` are those of `Corpus.torch`; others are a `UsageError`. Workers of a `DataLoader` open the corpus
    themselves; a batch's signals are fetched at once.
    """

    def __init__(self, corpus: Any, labels: str | None = "leaves") -> None:
        if labels is not None and labels not in LABELS:
            remedy = f"Choose {', '.join(LABELS)} or None"
            raise UsageError(f"there are no labels {labels!r}", remedy=remedy)
        self.corpus = corpus
        self.labels = labels

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, record: int) -> Tensor | tuple[Tensor, Tensor]:
        """One record, counted from 0, or from the end where negative. Raises `IndexError` beyond them."""
        item: Tensor | tuple[Tensor, Tensor] = self.__getitems__([range(len(self))[record]])[0]
        return item

    def __getitems__(self, records: list[int]) -> list[Any]:
        """The same of a batch: what a `DataLoader` asks for."""
        x_BCL = torch.from_numpy(self.corpus.signals(records))
        if self.labels is None:
            return list(x_BCL)
        labels = self.corpus.y if self.labels == "leaves" else self.corpus.primary
        label_B = torch.from_numpy(labels[np.asarray(records)])
        return list(zip(x_BCL, label_B.float() if self.labels == "leaves" else label_B, strict=True))
