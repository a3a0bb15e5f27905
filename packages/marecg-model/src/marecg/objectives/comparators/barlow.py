"""Barlow Twins: Zbontar et al., Self-Supervised Learning via Redundancy Reduction, ICML 2021.

Shapes: B batch, D width, K projection width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import batch_norm

from marecg.base.config import chosen
from marecg.nn.heads import BatchNormMLP
from marecg.nn.precision import in_float32
from marecg.objectives.comparators.two_views import TwoViews, TwoViewsConfig
from marecg.objectives.objective import Parts
from marecg.objectives.views import Views


class BarlowConfig(TwoViewsConfig):
    """Cross-correlation of two views towards the identity (arXiv:2103.03230)."""

    captions: ClassVar[Mapping[str, str]] = {"barlow": "cross-correlation of two views against the identity"}

    redundancy: float = chosen(5e-3, "Barlow Twins: λ, the weight of what is off the diagonal", ge=0)
    hidden: int = chosen(8192, "Barlow Twins: three layers alike", gt=0)
    outputs: int = chosen(8192, "Barlow Twins: more is better, up to 16384", gt=0)

    def build(self, parts: Parts) -> "Barlow":
        """The projector."""
        return Barlow(self, parts)


class Barlow(TwoViews):
    """A wide projector; each of its outputs agrees between views and tells what no other tells."""

    settings: BarlowConfig

    def __init__(self, settings: BarlowConfig, parts: Parts) -> None:
        hidden = settings.hidden
        super().__init__(settings, BatchNormMLP(parts.shape.width, hidden, hidden, settings.outputs))

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`barlow`."""
        return {"barlow": barlow_loss(*self.both(views), self.settings.redundancy)}


@in_float32
def barlow_loss(first_BK: Tensor, second_BK: Tensor, redundancy: float) -> Tensor:
    """Σ_i (1 − C_ii)² + λ Σ_{i≠j} C_ij² (Barlow Twins eq. 1); λ is `redundancy`, C over the batch."""
    first_BK, second_BK = (batch_norm(one_BK, None, None, training=True) for one_BK in (first_BK, second_BK))
    correlation_KK = first_BK.T @ second_BK / len(first_BK)
    diagonal_K = correlation_KK.diagonal()
    invariance = (1 - diagonal_K).square().sum()
    return invariance + redundancy * (correlation_KK.square().sum() - diagonal_K.square().sum())
