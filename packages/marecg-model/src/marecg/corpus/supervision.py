"""What supervises the records of a batch.

Shapes: M records of the corpus or B of a batch, N concepts, K the most beats of a record, T patches.
"""

from collections.abc import Collection
from typing import Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from marecg.config import ModelConfig, Settings, paper
from marecg.corpus.prepared import Corpus
from marecg.ecg.physiology import Rate

SMALLEST_STD = 1e-6
"""Added to a standard deviation that is divided by."""


class SoftTargets(Settings):
    """How far a record's target reaches over the graph, and from which leaf (eq. gscl-target)."""

    sigma: float = paper(1.0, "§subsec:tree-distance: σ", gt=0)
    rule: Literal["max-index", "most-specific"] = paper("max-index", "eq. primary-positive")


class Supervision(NamedTuple):
    """Labels, soft targets and physiology; the first axis is the record.

    Attributes:
        y_BN: bool, active leaves.
        target_BN: float32, soft targets t; all zero where only roots are known.
        rpeaks_BK: int64 sample indices, −1 where a record has fewer beats.
        mean_rr_B, rr_cv_B, rate_B, alternates_B, phase_BT: see `marecg.ecg.physiology`.
    """

    y_BN: Tensor
    target_BN: Tensor
    rpeaks_BK: Tensor
    mean_rr_B: Tensor
    rr_cv_B: Tensor
    rate_B: Tensor
    alternates_B: Tensor
    phase_BT: Tensor

    def rows(self, rows_B: Tensor) -> Self:
        """The supervision of some records."""
        return type(self)(*(value[rows_B] for value in self))

    def of_patches(self, patches: int) -> Self:
        """The same of a record's first patches alone."""
        return self._replace(phase_BT=self.phase_BT[:, :patches])

    def later(self, start_B: Tensor, model: ModelConfig) -> Self:
        """The same of the context that begins at each record's patch `start_B`."""
        patch_BT = start_B[:, None] + torch.arange(model.context_patches, device=start_B.device)
        shifted_BK = self.rpeaks_BK - start_B[:, None] * model.stride
        return self._replace(
            phase_BT=self.phase_BT.gather(1, patch_BT),
            rpeaks_BK=torch.where(self.rpeaks_BK < 0, -1, shifted_BK).clamp(min=-1),
        )

    @property
    def known_B(self) -> Tensor:
        """Which records have a readable rhythm."""
        return self.rate_B != Rate.NONE


def labels(
    corpus: Corpus, without_codes: Collection[str] = (), codes_permuted: int | None = None
) -> NDArray[np.uint8]:
    """The active leaves, uint8 [M, N].

    Args:
        corpus: the records.
        without_codes: sources whose codes are not read: their records have no leaf.
        codes_permuted: a seed; the records whose codes are read exchange them among each other.
    """
    read_M = ~corpus.sources.among(without_codes)
    y_MN: NDArray[np.uint8] = corpus.y * read_M[:, None].astype(np.uint8)
    if codes_permuted is not None:
        rows = np.flatnonzero(read_M)
        y_MN[rows] = y_MN[np.random.default_rng(codes_permuted).permutation(rows)]
    return y_MN
