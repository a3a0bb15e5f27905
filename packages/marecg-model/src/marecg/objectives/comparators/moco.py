"""MoCo v3: Chen, Xie & He, An Empirical Study of Training Self-Supervised Vision Transformers, ICCV 2021.

Shapes: B batch, K projection width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from marecg.base.config import chosen
from marecg.nn.heads import BatchNormMLP
from marecg.objectives.comparators.two_views import Momentum, MomentumConfig
from marecg.objectives.contrast import info_nce
from marecg.objectives.objective import Parts
from marecg.objectives.views import Views


class MocoConfig(MomentumConfig):
    """Contrast of queries with a slow network's keys, without a queue (arXiv:2104.02057).

    The patch projection is trained; MoCo v3 freezes it against the instability of batches of thousands.
    """

    captions: ClassVar[Mapping[str, str]] = {"moco": "contrast of a view with the other's slow keys"}

    momentum: float = chosen(0.99, "MoCo v3; it rises to 1 by the end of the run", ge=0, le=1)
    tau: float = chosen(0.2, "MoCo v3 with ViT", gt=0)
    hidden: int = chosen(4096, "MoCo v3: projector and predictor", gt=0)
    outputs: int = chosen(256, "MoCo v3: queries and keys", gt=0)

    def build(self, parts: Parts) -> "Moco":
        """Projector, predictor and the slow network."""
        return Moco(self, parts)


class Moco(Momentum):
    """Queries of one view find their record's key of the other among the batch's, both ways."""

    settings: MocoConfig

    def __init__(self, settings: MocoConfig, parts: Parts) -> None:
        width, hidden, outputs = parts.shape.width, settings.hidden, settings.outputs
        super().__init__(settings, parts, BatchNormMLP(width, hidden, hidden, outputs, closing=True))
        self.predictor = BatchNormMLP(outputs, hidden, outputs, closing=True)

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`moco`."""
        tau = self.settings.tau
        there, back = (
            moco_loss(self.predictor(one_BK), slow_BK, tau) for one_BK, slow_BK in self.pairs(views)
        )
        return {"moco": there + back}


def moco_loss(query_BK: Tensor, key_BK: Tensor, tau: float) -> Tensor:
    """2τ times InfoNCE of queries among keys (MoCo v3, its algorithm); no gradient goes into the keys."""
    return 2 * tau * info_nce(query_BK, key_BK.detach(), tau)
