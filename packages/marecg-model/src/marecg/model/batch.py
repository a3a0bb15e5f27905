"""Batch of a training step: signals and their supervision, the values that losses compare predictions with.

Shapes: B batch, C leads, L samples, N concepts, K maximum number of beats in a record, T patches.
"""

from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from marecg.model.config import ModelConfig
from marecg.model.physiology import Rate
from marecg.model.stored_signal import MILLIVOLTS_PER_UNIT
from marecg.settings import Settings, paper


class SoftTargets(Settings):
    """Settings of soft targets (eq. gscl-target of the paper).

    A soft target is a distribution over concepts, which is largest at the record's leaf concepts.

    Attributes:
        sigma: how far a target spreads on the concept graph from the leaf around which it is centred.
        rule: rule that chooses this leaf if a record has several leaves. `max-index` chooses the last leaf in
            the ontology's order. `most-specific` chooses the leaf with the longest path to more general
            leaves, and normal sinus rhythm only if there is no other leaf.
    """

    sigma: float = paper(1.0, "§subsec:tree-distance: σ", gt=0)
    rule: Literal["max-index", "most-specific"] = paper("max-index", "eq. primary-positive")


class Supervision(NamedTuple):
    """Labels, soft targets and physiology of a batch. The first axis is the record.

    Attributes:
        y_BN: bool, active leaves: the leaf concepts of each record's codes.
        target_BN: float32, soft targets: a distribution over concepts. All zero if a record has no leaf.
        rpeaks_BK: int64 sample indices of the R-peaks, padded with −1.
        mean_rr_B, rr_cv_B, rate_B, alternates_B, phase_BT: rhythm statistics of each record, and the phase of
            each patch (`physiology.Physiology`).
        root_BN: bool, root concepts above each record's concepts. They may be known even if no leaf is known.
    """

    y_BN: Tensor
    target_BN: Tensor
    rpeaks_BK: Tensor
    mean_rr_B: Tensor
    rr_cv_B: Tensor
    rate_B: Tensor
    alternates_B: Tensor
    phase_BT: Tensor
    root_BN: Tensor

    def rows(self, rows_B: Tensor) -> Self:
        """Return the supervision of some records, selected by their numbers or by a mask."""
        return type(self)(*(value[rows_B] for value in self))

    def of_patches(self, patches: int) -> Self:
        """Return the supervision with the phases of the first `patches` patches. All else is unchanged."""
        return self._replace(phase_BT=self.phase_BT[:, :patches])

    def later(self, start_B: Tensor, model: ModelConfig) -> Self:
        """Return the supervision of the context that begins at patch `start_B` of each record.

        The context is the part of a record that the encoder reads. Only phases and R-peaks change. R-peaks
        before the context get the index −1.
        """
        patch_BT = start_B[:, None] + torch.arange(model.context_patches, device=start_B.device)
        shifted_BK = self.rpeaks_BK - start_B[:, None] * model.stride
        return self._replace(
            phase_BT=self.phase_BT.gather(1, patch_BT),
            rpeaks_BK=torch.where(self.rpeaks_BK < 0, -1, shifted_BK).clamp(min=-1),
        )

    @property
    def known_B(self) -> Tensor:
        """Mask of records with a heart rate, which requires two R-peaks in the context."""
        return self.rate_B != Rate.NONE


class Batch(NamedTuple):
    """Micro-batch of one process of the run.

    Attributes:
        number: number of the micro-batch in this process, counted from 0 at the start of the run.
        rows_B: row numbers of the records in the corpus.
        d_BCL: int16 signals in µV, as stored on disk. They are half as large as float32 signals, so less
            data is sent to the device.
        n_valid_B: samples of each record before its padding.
        supervision: labels, soft targets and physiology of the records.
    """

    number: int
    rows_B: Tensor
    d_BCL: Tensor
    n_valid_B: Tensor
    supervision: Supervision

    @property
    def x_BCL(self) -> Tensor:
        """Signals in mV, float32, on the batch's device."""
        return self.d_BCL * float(MILLIVOLTS_PER_UNIT)

    def pinned(self) -> "Batch":
        """Return the batch in page-locked memory, so that it can be copied to a GPU asynchronously."""
        pinned: Batch = tree_map_only(Tensor, Tensor.pin_memory, self)
        return pinned
