"""BYOL: Grill et al., Bootstrap Your Own Latent, NeurIPS 2020.

Shapes: B batch, K projection width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import cosine_similarity

from marecg.base.config import chosen
from marecg.nn.heads import BatchNormMLP
from marecg.objectives.comparators.momentum import Momentum, MomentumConfig
from marecg.objectives.objective import Part, Parts
from marecg.objectives.views import Views


class ByolConfig(MomentumConfig):
    """Prediction of a slow network's projection of the other view (arXiv:2006.07733)."""

    captions: ClassVar[Mapping[str, str]] = {"byol": "prediction of the other view's slow projection"}

    hidden: int = chosen(4096, "BYOL: projector and predictor", gt=0)
    outputs: int = chosen(256, "BYOL: the projection", gt=0)

    def build(self, parts: Parts) -> "Byol":
        """Projector, predictor and the slow network."""
        return Byol(self, parts)


class Byol(Momentum):
    """A predictor from one view's projection to the slow network's of the other, both ways."""

    reaches: ClassVar[frozenset[Part]] = frozenset({"pool"})

    def __init__(self, settings: ByolConfig, parts: Parts) -> None:
        hidden, outputs = settings.hidden, settings.outputs
        super().__init__(settings, parts, BatchNormMLP(parts.shape.width, hidden, outputs))
        self.predictor = BatchNormMLP(outputs, hidden, outputs)

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`byol`."""
        first, second = self.settings.looks(views)
        return {
            "byol": byol_loss(
                self.predictor(self.projected(views, first)), self.slowly_projected(views, second)
            )
            + byol_loss(self.predictor(self.projected(views, second)), self.slowly_projected(views, first))
        }


def byol_loss(predicted_BK: Tensor, target_BK: Tensor) -> Tensor:
    """2 − 2 cos (BYOL eq. 2): squared distance of the two directions; no gradient goes into the target."""
    return (2 - 2 * cosine_similarity(predicted_BK, target_BK.detach(), dim=-1)).mean()
