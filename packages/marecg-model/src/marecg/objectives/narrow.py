"""A narrow transformer beside the encoder: the decoder's and the predictor's size."""

from typing import Self

from pydantic import model_validator

from marecg.base.config import ModelConfig, chosen
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.heads import Predictor
from marecg.objectives.objective import ObjectiveConfig


class NarrowConfig(ObjectiveConfig):
    """The values of an objective that has a transformer of its own."""

    width: int = chosen(384, "half the encoder's, as in MAE and I-JEPA", gt=0)
    depth: int = chosen(4, "as in ST-MEM; I-JEPA has 6 to 12 at twice our width", gt=0)
    heads: int = chosen(6, "64 wide each", gt=0)

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self

    def predictor(self, shape: ModelConfig, leads: int, outputs: int | None = None) -> Predictor:
        """The transformer beside an encoder of a shape, over so many leads; `outputs` wide, or as H is."""
        return Predictor(
            leads, shape.positions, shape.width, self.width, self.depth, self.heads, shape.mlp_ratio, outputs
        )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """The transformer's, which learns."""
        return Flops(encoder_flops(shape.model_copy(update={"width": self.width, "depth": self.depth})), 0)
