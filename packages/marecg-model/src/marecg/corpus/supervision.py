"""What supervises each record: made once per corpus, fetched by row with every batch.

Shapes: M records of the corpus or B of a batch, N concepts, K the most beats of a record, T patches.
"""

from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from ecg_ontology import Ontology
from marecg.config import Config, GsclConfig, MspsConfig
from marecg.corpus.prepared import Corpus
from marecg.ecg.physiology import Rate, physiology


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
    def of(cls, corpus: Corpus, ontology: Ontology, config: Config) -> Self:
        """Make it for a whole corpus; σ and the rule are the recipe's."""
        gscl = config.gscl or GsclConfig()
        targets = ontology.soft_targets(corpus.y, sigma=gscl.sigma, rule=gscl.rule)
        rhythm = physiology(corpus.rpeaks, config.model, config.msps or MspsConfig())
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
