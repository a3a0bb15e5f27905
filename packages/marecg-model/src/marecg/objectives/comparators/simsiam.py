"""SimSiam: Chen & He, Exploring Simple Siamese Representation Learning, CVPR 2021.

Shapes: B batch, D width, K projection width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from marecg.base.config import chosen
from marecg.nn.heads import BatchNormMLP
from marecg.objectives.comparators.two_views import TwoViews, TwoViewsConfig
from marecg.objectives.contrast import minus_cosine
from marecg.objectives.objective import Parts
from marecg.objectives.views import Views


class SimsiamConfig(TwoViewsConfig):
    """Prediction of the other view's projection, which takes no gradient (arXiv:2011.10566)."""

    captions: ClassVar[Mapping[str, str]] = {"simsiam": "prediction of the other view's projection"}

    outputs: int = chosen(2048, "SimSiam: the projection, as wide as its encoder", gt=0)
    hidden: int = chosen(512, "SimSiam: the predictor's bottleneck, a quarter of the projection", gt=0)

    def build(self, parts: Parts) -> "Simsiam":
        """Projector and predictor."""
        return Simsiam(self, parts)


class Simsiam(TwoViews):
    """A predictor from one view's projection to the other's, both ways; the target stands still."""

    settings: SimsiamConfig

    def __init__(self, settings: SimsiamConfig, parts: Parts) -> None:
        outputs = settings.outputs
        super().__init__(settings, BatchNormMLP(parts.shape.width, outputs, outputs, outputs, closing=True))
        self.predictor = BatchNormMLP(outputs, settings.hidden, outputs)

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`simsiam`, the mean of eq. 1 both ways."""
        first_BK, second_BK = self.both(views)
        there = minus_cosine(self.predictor(first_BK), second_BK)
        return {"simsiam": (there + minus_cosine(self.predictor(second_BK), first_BK)) / 2}
