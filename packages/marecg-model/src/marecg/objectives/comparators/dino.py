"""DINO: Caron et al., Emerging Properties in Self-Supervised Vision Transformers, ICCV 2021.

Shapes: B batch, D width, K prototypes.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize

from marecg.base.config import chosen
from marecg.nn.attention import init_linear
from marecg.nn.precision import in_float32
from marecg.objectives.comparators.two_views import Momentum, MomentumConfig
from marecg.objectives.objective import Parts
from marecg.objectives.views import Views


class DinoConfig(MomentumConfig):
    """Self-distillation from a slow network whose answers are centred and sharpened (arXiv:2104.14294).

    Plain: two global views without small crops, one teacher temperature, prototypes trained from the start.
    """

    captions: ClassVar[Mapping[str, str]] = {"dino": "the slow network's assignment of the other view"}

    tau: float = chosen(0.1, "DINO: the student's temperature", gt=0)
    tau_slow: float = chosen(0.04, "DINO: the teacher's, where its warm-up begins", gt=0)
    centring: float = chosen(0.9, "DINO: momentum of the centre", ge=0, lt=1)
    hidden: int = chosen(2048, "DINO's head", gt=0)
    outputs: int = chosen(256, "DINO: the bottleneck before the prototypes", gt=0)
    prototypes: int = chosen(4096, "DINO has 65536 for a thousand classes and 1.3 M images", gt=0)

    def build(self, parts: Parts) -> "Dino":
        """The head, the slow network and the centre of its answers."""
        return Dino(self, parts)


class Dino(Momentum):
    """The student's distribution of one view over prototypes follows the teacher's of the other."""

    settings: DinoConfig
    centre_K: Tensor

    def __init__(self, settings: DinoConfig, parts: Parts) -> None:
        super().__init__(settings, parts, _Head(parts.shape.width, settings))
        self.register_buffer("centre_K", torch.zeros(settings.prototypes))

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`dino`; the centre moves with each micro-batch, alike on all ranks."""
        pairs, tau, tau_slow = self.pairs(views), self.settings.tau, self.settings.tau_slow
        terms = [dino_loss(one_BK, slow_BK - self.centre_K, tau, tau_slow) for one_BK, slow_BK in pairs]
        with torch.no_grad():
            slow = torch.cat([slow_BK for _, slow_BK in pairs])
            self.centre_K.lerp_(slow.mean(0), 1 - self.settings.centring)
        return {"dino": (terms[0] + terms[1]) / 2}


@in_float32
def dino_loss(student_BK: Tensor, teacher_BK: Tensor, tau: float, tau_slow: float) -> Tensor:
    """Cross-entropy of the student's logits against the teacher's, which are centred and take no gradient."""
    target_BK = (teacher_BK.detach() / tau_slow).softmax(-1)
    return -(target_BK * (student_BK / tau).log_softmax(-1)).sum(-1).mean()


class _Head(nn.Module):
    """An MLP to a bottleneck on the sphere, and the cosine to every prototype."""

    def __init__(self, width: int, settings: DinoConfig) -> None:
        super().__init__()
        hidden, outputs = settings.hidden, settings.outputs
        self.bottleneck = nn.Sequential(
            nn.Linear(width, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, outputs),
        )
        self.apply(init_linear)
        self.prototypes = nn.Parameter(torch.empty(settings.prototypes, outputs))
        nn.init.trunc_normal_(self.prototypes, std=0.02)

    def forward(self, h_BD: Tensor) -> Tensor:
        """Logits over the prototypes, [B, K]."""
        return _cosines(self.bottleneck(h_BD), self.prototypes)


@in_float32
def _cosines(h_BD: Tensor, prototypes_KD: Tensor) -> Tensor:
    return linear(normalize(h_BD, dim=-1), normalize(prototypes_KD, dim=-1))
