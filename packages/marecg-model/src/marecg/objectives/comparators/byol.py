"""BYOL: Grill et al., Bootstrap Your Own Latent, NeurIPS 2020.

Shapes: B batch, K projection width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import cosine_similarity

from marecg.base.config import chosen
from marecg.nn.heads import BatchNormMLP
from marecg.objectives.comparators.two_views import Momentum, MomentumConfig
from marecg.objectives.objective import Parts
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

    def __init__(self, settings: ByolConfig, parts: Parts) -> None:
        hidden, outputs = settings.hidden, settings.outputs
        super().__init__(settings, parts, BatchNormMLP(parts.shape.width, hidden, outputs))
        self.predictor = BatchNormMLP(outputs, hidden, outputs)

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`byol`."""
        terms = [byol_loss(self.predictor(one_BK), slow_BK) for one_BK, slow_BK in self.pairs(views)]
        return {"byol": terms[0] + terms[1]}


def byol_loss(predicted_BK: Tensor, target_BK: Tensor) -> Tensor:
    """2 − 2 cos (BYOL eq. 2): squared distance of the two directions; no gradient goes into the target."""
    return (2 - 2 * cosine_similarity(predicted_BK, target_BK.detach(), dim=-1)).mean()
