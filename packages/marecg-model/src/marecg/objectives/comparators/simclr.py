"""SimCLR: Chen et al., A Simple Framework for Contrastive Learning of Visual Representations, ICML 2020.

Shapes: B batch, D width, K projection width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from marecg.base.config import chosen
from marecg.nn.heads import MLP
from marecg.objectives.comparators.two_views import TwoViews, TwoViewsConfig
from marecg.objectives.contrast import nt_xent
from marecg.objectives.objective import Parts
from marecg.objectives.views import Views


class SimclrConfig(TwoViewsConfig):
    """Contrast of two augmented, unmasked views (arXiv:2002.05709)."""

    captions: ClassVar[Mapping[str, str]] = {"simclr": "contrast of two augmented views"}

    tau: float = chosen(0.1, "SimCLR Table 5: best with normalised projections", gt=0)
    outputs: int = chosen(128, "SimCLR's default: the projection", gt=0)

    def build(self, parts: Parts) -> "Simclr":
        """The projector."""
        return Simclr(self, parts)


class Simclr(TwoViews):
    """Each view finds its record's other view among those of the whole batch."""

    settings: SimclrConfig

    def __init__(self, settings: SimclrConfig, parts: Parts) -> None:
        width = parts.shape.width
        super().__init__(settings, MLP(width, width, settings.outputs))

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`simclr`."""
        first_BK, second_BK = (
            views.all_ranks(self.projector(seen.rhythm_BD)) for seen in self.settings.looks(views)
        )
        return {"simclr": nt_xent(first_BK, second_BK, self.settings.tau)}
