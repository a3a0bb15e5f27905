"""A narrow transformer beside the encoder: the decoder's and the predictor's size."""

from typing import Self

from pydantic import model_validator

from marecg.config import chosen
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
