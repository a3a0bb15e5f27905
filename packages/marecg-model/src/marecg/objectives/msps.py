"""Multi-scale physiological supervision (MSPS), which predicts properties of the rhythm from each patch.

The targets come from the R-peaks (`marecg.model.physiology`). The predictions are computed from H̄, the
encoder's output averaged over leads. The losses are eq. patch-rhythm-loss and eq. msps-loss of the paper.

Shapes: B batch, T patches, D width, R = K_r rhythm outputs, K = K_p position and K_φ phase classes.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from marecg.model.physiology import RhythmThresholds
from marecg.nn.heads import MLP
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen, paper

RHYTHM_OUTPUTS = 7
"""K_r, the number of rhythm outputs, in this order: alternation, four heart-rate classes, mean RR, and RR-CV.

RR-CV is the coefficient of variation of the RR intervals: their standard deviation divided by their mean.
"""

PHASES = 4
"""K_φ, the number of phases: PRE-R, R, ST, T-wave."""


class MspsConfig(RhythmThresholds, ObjectiveConfig):
    """Settings of multi-scale physiological supervision (MSPS)."""

    captions = {
        "alt": "alternation of RR intervals",
        "rate": "heart rate bucket",
        "mrr": "mean RR",
        "cv": "variation of RR",
        "seq": "position of a patch in the record",
        "phase": "position of a patch in its beat",
    }

    ramp_epochs: float = paper(5, "§sec:values: E_ramp", ge=0)
    lambda_rhythm: float = paper(0.20, "§sec:values", ge=0)
    lambda_pos: float = paper(0.10, "§sec:values", ge=0)
    alpha_alt: float = paper(1.0, "§sec:values", ge=0)
    alpha_rate: float = paper(1.0, "§sec:values", ge=0)
    alpha_mrr: float = paper(0.5, "§sec:values", ge=0)
    alpha_cv: float = paper(0.5, "§sec:values", ge=0)
    hidden: int = paper(256, "§Computational efficiency: two MLPs of hidden width 256", gt=0)
    z_score: Literal["batch", "corpus"] = chosen(
        "batch", "as in the paper; `corpus`, as in small, is less noisy for small batches"
    )
    buckets: int = paper(8, "§sec:values: K_p", gt=0)


class Msps(Objective, of=MspsConfig):
    """Objective with two MLPs on H̄, which predict rhythm statistics and patch positions."""

    settings: MspsConfig

    def __init__(self, settings: MspsConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        width = parts.shape.width
        self.rhythm_head = MLP(width, settings.hidden, RHYTHM_OUTPUTS)
        self.position_head = MLP(width, settings.hidden, settings.buckets + PHASES)

    def losses(self, views: Views) -> Losses:
        """Return the losses of eq. msps-loss with their weights.

        Each loss compares the predicted and the true value of a target: alternation, mean and variation of
        the RR intervals, heart-rate class, position of a patch in the record, and its phase in the beat.
        """
        msps, view = self.settings, views.supervised
        truth = view.supervision
        target = RhythmTarget(truth.alternates_B, truth.rate_B, truth.mean_rr_B, truth.rr_cv_B, truth.known_B)
        h_BTD, real_BT = view.h_bar_BTD, view.real_BT
        rhythm = patch_rhythm_losses(
            self.rhythm_head(h_BTD), target, real_BT, z_score=msps.z_score == "batch"
        )
        position = patch_position_losses(self.position_head(h_BTD), truth.phase_BT, real_BT)
        weights = {
            "alt": msps.lambda_rhythm * msps.alpha_alt,
            "rate": msps.lambda_rhythm * msps.alpha_rate,
            "mrr": msps.lambda_rhythm * msps.alpha_mrr,
            "cv": msps.lambda_rhythm * msps.alpha_cv,
            "seq": msps.lambda_pos,
            "phase": msps.lambda_pos,
        }
        return {name: (weights[name], value) for name, value in (rhythm | position).items()}


class RhythmTarget(NamedTuple):
    """Target rhythm statistics per record.

    Attributes:
        alternates_B: 1 if RR intervals alternate, otherwise 0.
        rate_B: heart-rate class (`marecg.model.physiology.Rate`).
        mean_rr_B: mean RR interval in seconds, or its z-score over the corpus.
        rr_cv_B: standard deviation of the RR intervals, divided by their mean, or its z-score.
        known_B: False if a record has no readable rhythm.
    """

    alternates_B: Tensor
    rate_B: Tensor
    mean_rr_B: Tensor
    rr_cv_B: Tensor
    known_B: Tensor


def patch_rhythm_losses(
    out_BTR: Tensor, target: RhythmTarget, real_BT: Tensor, *, z_score: bool = True
) -> dict[str, Tensor]:
    """Return the losses L_alt, L_rate, L_mRR and L_cv by the names `alt`, `rate`, `mrr` and `cv`.

    They are the losses of alternation, heart-rate class, mean RR and RR-CV (standard deviation of the RR
    intervals, divided by their mean). Each patch without padding predicts the record's statistics. If no
    record has a readable rhythm, all losses are zero.

    Args:
        out_BTR: logit of alternation, four logits of the heart-rate class, mean RR, and RR-CV.
        target: true statistics of the records.
        real_BT: bool. Patches with padding don't count.
        z_score: whether to standardise the true mean RR and RR-CV over the batch's records with a readable
            rhythm.
    """
    known_B = target.known_B
    count = known_B.sum().clamp(min=1)
    patches_B = real_BT.sum(1).clamp(min=1)

    def over_known(loss_BT: Tensor) -> Tensor:
        return ((loss_BT * real_BT).sum(1) / patches_B * known_B).sum() / count

    def squared(out_BT: Tensor, value_B: Tensor) -> Tensor:
        target_B = _z_score(value_B, known_B) if z_score else value_B
        return over_known((out_BT - target_B[:, None]).square())

    shape_BT = out_BTR.shape[:2]
    alternates_BT = target.alternates_B[:, None].expand(shape_BT).to(out_BTR.dtype)
    rate_BT = (target.rate_B * known_B)[:, None].expand(shape_BT)
    return {
        "alt": over_known(binary_cross_entropy_with_logits(out_BTR[..., 0], alternates_BT, reduction="none")),
        "rate": over_known(cross_entropy(out_BTR[..., 1:5].transpose(1, 2), rate_BT, reduction="none")),
        "mrr": squared(out_BTR[..., 5], target.mean_rr_B),
        "cv": squared(out_BTR[..., 6], target.rr_cv_B),
    }


def patch_position_losses(out_BTK: Tensor, phase_BT: Tensor, real_BT: Tensor) -> dict[str, Tensor]:
    """Return L_seq and L_phase, the losses of a patch's position in the sequence and in its beat.

    Args:
        out_BTK: logits of the K_p sections of the sequence, then of the K_φ phases.
        phase_BT: phases. Patches with −1 don't count in L_phase.
        real_BT: bool. Patches with padding don't count in either loss.
    """
    _, patches, classes = out_BTK.shape
    buckets = classes - PHASES
    bucket_T = torch.arange(patches, device=out_BTK.device) * buckets // patches
    seq_target_BT = bucket_T.where(real_BT, -1)
    seq = cross_entropy(
        out_BTK[..., :buckets].transpose(1, 2), seq_target_BT, ignore_index=-1, reduction="sum"
    )
    usable_BT = (phase_BT >= 0) & real_BT
    phase_loss_BT = cross_entropy(
        out_BTK[..., buckets:].transpose(1, 2), phase_BT.long().clamp(min=0), reduction="none"
    )
    return {
        "seq": seq / real_BT.sum().clamp(min=1),
        "phase": (phase_loss_BT * usable_BT).sum() / usable_BT.sum().clamp(min=1),
    }


def _z_score(value_B: Tensor, known_B: Tensor) -> Tensor:
    count = known_B.sum().clamp(min=1)
    mean = (value_B * known_B).sum() / count
    variance = ((value_B - mean).square() * known_B).sum() / count
    return (value_B - mean) / (variance.sqrt() + 1e-6)
