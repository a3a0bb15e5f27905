"""What supervises each record: made once per corpus, fetched by row with every batch.

Shapes: M records of the corpus or B of a batch, N concepts, K the most beats of a record, T patches.
"""

from typing import Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from ecg_ontology import Ontology
from marecg.config import ModelConfig, Settings, paper
from marecg.corpus.prepared import Corpus
from marecg.ecg.physiology import Rate, RhythmThresholds, physiology


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

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        ontology: Ontology,
        model: ModelConfig,
        soft: SoftTargets | None = None,
        limits: RhythmThresholds | None = None,
    ) -> Self:
        """Make it for a whole corpus, as the encoder's patches, σ and the thresholds of a run want it."""
        soft, limits = soft or SoftTargets(), limits or RhythmThresholds()
        targets = ontology.soft_targets(corpus.y, sigma=soft.sigma, rule=soft.rule)
        rhythm = physiology(corpus.rpeaks, model, limits)
        most = max((len(peaks) for peaks in corpus.rpeaks), default=0)
        rpeaks = np.full((len(corpus), most), -1, np.int64)
        for row, peaks in enumerate(corpus.rpeaks):
            rpeaks[row, : len(peaks)] = peaks
        return cls(
            torch.from_numpy(corpus.y.astype(bool)),
            torch.from_numpy(targets.astype(np.float32)),
            torch.from_numpy(rpeaks),
            torch.from_numpy(rhythm.mean_rr_M),
            torch.from_numpy(rhythm.rr_cv_M),
            torch.from_numpy(rhythm.rate_M),
            torch.from_numpy(rhythm.alternates_M),
            torch.from_numpy(rhythm.phase_MT),
        )

    def rows(self, rows_B: Tensor) -> Self:
        """The supervision of some records."""
        return type(self)(*(value[rows_B] for value in self))

    @property
    def known_B(self) -> Tensor:
        """Which records have a readable rhythm."""
        return self.rate_B != Rate.NONE
