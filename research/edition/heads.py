"""Objectives `codes` and `dense`: linear heads on what a linear probe of the beat readout reads.

    marecg train --recipe research/edition/heads.py:codes --data CORPUS --out RUN
    marecg train --recipe research/edition/heads.py:dense --set dense.targets=TARGETS --data CORPUS --out RUN

`codes` predicts each concept of a record by itself. `dense` predicts intervals and heights of synthetic ECGs,
whose truth is known (`dense_targets.py`). The paper has neither objective. The heads aren't exported.

Shapes: B batch, T patches, D width, J phases, F features, N concepts, R families (roots), M records of the
corpus, V values.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot, smooth_l1_loss

from marecg.model.readout import beat_blocks, wide_blocks
from marecg.objectives import Losses, Objective, ObjectiveConfig, Parts, Pass, Views
from marecg.objectives.msps import PHASES
from marecg.recipes import Config, small
from marecg.settings import chosen

PRIOR = 0.05
"""Probability of each concept at the start of the training."""


class Head(nn.Module):
    """Linear head on the blocks of the wide readout, and on the means of H over the phases of the beat.

    Features are standardised over the batch, and blocks have equal weights, as in a linear probe. `log_std`
    and the modulation spectrum are left out, since the encoder has no part in them.

    Args:
        width: width D of H.
        outputs: number of outputs.
        dropout: share of the features that are zero in a step.
    """

    scale_F: Tensor

    def __init__(self, width: int, outputs: int, dropout: float) -> None:
        super().__init__()
        blocks = (*(4 * [width]), 12 * width, PHASES * width, 12 * width)
        scale_F = torch.cat([torch.full((size,), math.sqrt(width / size)) for size in blocks])
        self.register_buffer("scale_F", scale_F, persistent=False)
        self.standardise = nn.BatchNorm1d(len(scale_F), affine=False)
        self.dropout = dropout
        self.linear = nn.Linear(len(scale_F), outputs)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, view: Pass, generator: torch.Generator) -> Tensor:
        """Return the outputs of each record."""
        x_BF = self.standardise(features(view)) * self.scale_F
        draw_BF = torch.rand(x_BF.shape, generator=generator, device=generator.device).to(x_BF.device)
        return self.linear(x_BF * (draw_BF >= self.dropout) / (1 - self.dropout))  # type: ignore[no-any-return]


def features(view: Pass) -> Tensor:
    """Return the input of a head, [B, F]."""
    h_BTCD, real_BT = view.h_BTCD, view.real_BT
    no_scale_BC = h_BTCD.new_zeros(h_BTCD.shape[0], h_BTCD.shape[2])
    wide = wide_blocks(view.rhythm_BD, h_BTCD, no_scale_BC, real_BT)
    phase_BT = view.supervision.phase_BT.long()
    of_phase_BTJ = one_hot(phase_BT.clamp(min=0), PHASES) * ((phase_BT >= 0) & real_BT)[..., None]
    share_BJT = of_phase_BTJ.transpose(1, 2).to(h_BTCD.dtype)
    share_BJT = share_BJT / share_BJT.sum(-1, keepdim=True).clamp(min=1)
    beat = beat_blocks(h_BTCD, share_BJT)  # the phase R takes the place of the QRS patch
    names = ("rhythm", "mean", "max", "std", "leads")
    return torch.cat([*(wide[name] for name in names), beat["beat"], beat["qrs"]], 1)


class CodesConfig(ObjectiveConfig):
    """Settings of the sigmoid head."""

    captions: ClassVar[Mapping[str, str]] = {
        "codes": "cross-entropy of each concept by itself, summed over concepts"
    }
    needs_codes = True

    weight: float = chosen(0.1, "set without a trial", ge=0)
    dropout: float = chosen(0.2, "set without a trial; few records have codes", ge=0, lt=1)


class Codes(Objective, of=CodesConfig):
    """Objective that predicts each concept of a record by itself."""

    family_N: Tensor

    reaches = frozenset({"pool"})

    def __init__(self, settings: CodesConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.head = Head(parts.shape.width, len(parts.ontology), settings.dropout)
        nn.init.constant_(self.head.linear.bias, math.log(PRIOR / (1 - PRIOR)))
        self.register_buffer("family_N", torch.tensor(parts.ontology.families), persistent=False)

    def losses(self, views: Views) -> Losses:
        """Return the loss `codes`."""
        view = views.supervised
        logits_BN, truth = self.head(view, views.generator), view.supervision
        return {"codes": (1.0, codes_loss(logits_BN, truth.y_BN, truth.root_BN, self.family_N))}


def codes_loss(logits_BN: Tensor, y_BN: Tensor, root_BN: Tensor, family_N: Tensor) -> Tensor:
    """Return the binary cross-entropy summed over the known concepts, averaged over the records with codes.

    A root is known in each record with codes. A leaf is unknown if the record has its family, but no leaf of
    the family.

    Args:
        logits_BN: logits of the concepts.
        y_BN: bool, leaves of each record.
        root_BN: bool, roots above the record's concepts.
        family_N: root of each concept's family.
    """
    coded_B = root_BN.any(1)
    alike_NN = (family_N[:, None] == family_N).float()
    has_leaf_BN = (y_BN.float() @ alike_NN) > 0
    known_BN = (has_leaf_BN | ~root_BN[:, family_N] | root_BN) & coded_B[:, None]
    target_BN = (y_BN | root_BN).to(logits_BN.dtype)
    loss_BN = binary_cross_entropy_with_logits(logits_BN, target_BN, reduction="none")
    return (loss_BN * known_BN).sum() / coded_B.sum().clamp(min=1)


class DenseConfig(ObjectiveConfig):
    """Settings of the head for intervals and heights."""

    captions: ClassVar[Mapping[str, str]] = {
        "dense": "intervals and heights of synthetic records, mean over values"
    }

    weight: float = chosen(0.1, "set without a trial", ge=0)
    dropout: float = chosen(0.2, "as for codes", ge=0, lt=1)
    targets: str = chosen("", "file of `dense_targets.py`, z-scores [M, V]")


class Dense(Objective, of=DenseConfig):
    """Objective that predicts intervals and heights of the records that have them."""

    target_MV: Tensor

    reaches = frozenset({"pool"})

    def __init__(self, settings: DenseConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        target_MV = torch.from_numpy(np.load(settings.targets, allow_pickle=False))
        self.register_buffer("target_MV", target_MV, persistent=False)
        self.head = Head(parts.shape.width, target_MV.shape[1], settings.dropout)

    def losses(self, views: Views) -> Losses:
        """Return the loss `dense`, a Huber loss."""
        out_BV = self.head(views.supervised, views.generator)
        target_BV = self.target_MV[views.batch.rows_B]
        known_BV = ~target_BV.isnan()
        loss_BV = smooth_l1_loss(out_BV, target_BV.nan_to_num(), reduction="none")
        return {"dense": (1.0, (loss_BV * known_BV).sum() / known_BV.sum().clamp(min=1))}


def codes() -> Config:
    """Return `small` with the sigmoid head."""
    return small().derived(name="small-codes", codes=CodesConfig())


def dense() -> Config:
    """Return `small` with the head for intervals and heights."""
    return small().derived(name="small-dense", dense=DenseConfig())
