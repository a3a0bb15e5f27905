"""ASTCL: Wang et al., Adversarial Spatiotemporal Contrastive Learning for Electrocardiogram Signals, 2024.

IEEE TNNLS 35(10), doi:10.1109/TNNLS.2023.3272153. The method is implemented from the abstract, because the
text isn't openly available. A pass is a forward pass of MAR-ECG's encoder over a batch.

Shapes: B batch, T patches, C leads, D width, K projection width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.heads import MLP, BatchNormMLP
from marecg.nn.pooling import real_or_all
from marecg.objectives.contrast import minus_cosine
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Pass, Views
from marecg.settings import chosen
from marecg_research.comparators.two_views import over_batch


class AstclConfig(ObjectiveConfig):
    """Settings of ASTCL: adversarial invariance to noise, and prediction between views without negatives.

    Noise is added to one view, and removed from the other view. Each record counts as another patient.
    MAR-ECG's encoder is bidirectional. So the first half of a record is encoded separately, without the
    second half, which is predicted from it.
    """

    captions = {
        "adversarial": "a discriminator's error at which view it sees, which the encoder raises",
        "spatiotemporal": "each lead's future in the other view from its past",
        "patient": "prediction of the other view's projection",
    }

    lambda_adversarial: float = chosen(1.0, "the abstract names no weights", ge=0)
    lambda_spatiotemporal: float = chosen(1.0, "the abstract names no weights", ge=0)
    lambda_patient: float = chosen(1.0, "the abstract names no weights", ge=0)
    reversal: float = chosen(0.1, "weight of the reversed gradient for the encoder", ge=0)
    outputs: int = chosen(2048, "width of the projection, as in SimSiam, which also stops gradients", gt=0)
    hidden: int = chosen(512, "width of discriminator and predictors, as in SimSiam", gt=0)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost of the passes over the second view and over the first halves of both views."""
        half = shape.context_patches // 2
        return Flops(encoder_flops(shape) + 2 * encoder_flops(shape, max(1, half)), 0)


class Astcl(Objective, of=AstclConfig):
    """Predict between noisy and denoised views, which a discriminator shouldn't be able to distinguish."""

    reaches = frozenset({"pool"})
    settings: AstclConfig

    def __init__(self, settings: AstclConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        width, hidden, outputs = parts.shape.width, settings.hidden, settings.outputs
        self.discriminator = MLP(width, hidden, 1)
        self.projector = BatchNormMLP(width, outputs, outputs, outputs, closing=True)
        self.patient = BatchNormMLP(outputs, hidden, outputs)
        self.future = MLP(width, hidden, width)

    def losses(self, views: Views) -> Losses:
        """Return three losses with their weights.

        `adversarial`: a discriminator shouldn't be able to distinguish noisy from denoised views.
        `spatiotemporal`: the first half of a view predicts the second half of the other view.
        `patient`: the projections of both views of a record should be similar.
        """
        settings = self.settings
        noisy, clear = views.clean("rhythm-safe"), views.clean("denoised")
        logits = [
            self.discriminator(reversed_gradient(view.rhythm_BD, settings.reversal))[:, 0]
            for view in (noisy, clear)
        ]
        pasts, futures = zip(*(self._halves(view) for view in (noisy, clear)), strict=True)
        first_BK, second_BK = (self.projector(over_batch(views, view.rhythm_BD)) for view in (noisy, clear))
        patient = minus_cosine(self.patient(first_BK), second_BK)
        patient = (patient + minus_cosine(self.patient(second_BK), first_BK)) / 2
        future = minus_cosine(self.future(pasts[0]), futures[1])
        future = (future + minus_cosine(self.future(pasts[1]), futures[0])) / 2
        return {
            "adversarial": (settings.lambda_adversarial, adversarial_loss(*logits)),
            "spatiotemporal": (settings.lambda_spatiotemporal, future),
            "patient": (settings.lambda_patient, patient),
        }

    @staticmethod
    def _halves(view: Pass) -> tuple[Tensor, Tensor]:
        """Return each lead's means over the separately encoded first half, and over the second half.

        Both are [B, C, D].
        """
        half = max(1, view.h_BTCD.shape[1] // 2)
        past_BTCD, future_BTCD = view.part(0, half), view.h_BTCD[:, half:]
        return _mean(past_BTCD, view.real_BT[:, :half]), _mean(future_BTCD, view.real_BT[:, half:])


def _mean(h_BTCD: Tensor, real_BT: Tensor) -> Tensor:
    """Return each lead's mean over the patches without padding, [B, C, D]."""
    weight_BT11 = real_or_all(real_BT)[..., None, None].to(h_BTCD.dtype)
    return (h_BTCD * weight_BT11).sum(1) / weight_BT11.sum(1)


def adversarial_loss(noisy_B: Tensor, clear_B: Tensor) -> Tensor:
    """Return the cross-entropy of the discriminator's logits for noisy and denoised views."""
    terms = (
        binary_cross_entropy_with_logits(noisy_B, torch.ones_like(noisy_B)),
        binary_cross_entropy_with_logits(clear_B, torch.zeros_like(clear_B)),
    )
    return (terms[0] + terms[1]) / 2


def reversed_gradient(h_BD: Tensor, strength: float) -> Tensor:
    """Return the values unchanged, with a reversed gradient (Ganin et al. 2016, arXiv:1505.07818)."""
    return _Reversed.apply(h_BD, strength)  # type: ignore[no-any-return, no-untyped-call]


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h_BD: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return h_BD.view_as(h_BD)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradients[0], None
