"""Interface of objectives: values, heads, requested views and named losses.

A file in this folder, or one of yours, has a subclass of each: `ObjectiveConfig` with every value and its
source, and `Objective`. docs/extending.md begins with the smallest one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import model_validator
from torch import Tensor, nn

from ecg_ontology import Ontology
from marecg.errors import ConfigError
from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.model.window_encoder import WindowEncoder
from marecg.nn.encoder import Encoder
from marecg.nn.heads import Predictor
from marecg.objectives.views import Views
from marecg.settings import Settings, chosen, paper

Part = Literal["pool", "to_concepts"]
"""What of the model not every objective reaches: the pool that makes h_rhythm, and W_sca."""

Losses = dict[str, tuple[float, Tensor]]
"""Each loss of an objective by its name in `captions`: its weight, and its unweighted scalar value."""


class Parts(NamedTuple):
    """Parts of the network that an objective's heads need.

    Attributes:
        texts: the sentence embeddings of the ontology's text variants, where there is such a file.
    """

    shape: ModelConfig
    model: WindowEncoder
    ontology: Ontology
    texts: Path | None = None


class ObjectiveConfig(Settings):
    """Values of an objective: its coefficient in eq. total-loss and the coefficient's ramp, among others.

    Attributes:
        captions: each loss that it names, with what that measures; the columns of metrics.csv.
        needs_codes: whether it learns from leaves of records, so that a corpus without any is refused.
        objective: the class that is made with these values: `class Mine(Objective, of=MineConfig)`.
    """

    captions: ClassVar[Mapping[str, str]] = {}
    needs_codes: ClassVar[bool] = False
    objective: ClassVar[type["Objective"]]

    weight: float = paper(1.0, "eq. total-loss: no coefficient", ge=0)
    ramp_epochs: float = chosen(0.0, "full weight from the first step", ge=0)

    def build(self, parts: Parts) -> "Objective":
        """Build the objective that has these values. Raises `ConfigError` if there is none."""
        if not hasattr(self, "objective"):
            remedy = f"Install its package, or write class Mine(Objective, of={type(self).__name__})"
            raise ConfigError("no objective is made with these values", where=repr(self), remedy=remedy)
        return self.objective(self, parts)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost that this objective adds to the masked pass of one record, without its heads."""
        return Flops(0, 0)

    def share(self, epoch: float) -> float:
        """Return the coefficient at an epoch, on its linear ramp (§sec:values: E_ramp)."""
        return self.weight * ramp(epoch, self.ramp_epochs)


class Objective(nn.Module, ABC):
    """Objective of a run, with heads that are discarded after training.

    Attributes:
        reaches: the parts of the model that its losses read; what no objective reaches takes no gradient.
    """

    reaches: ClassVar[frozenset[Part]] = frozenset()
    settings: ObjectiveConfig

    def __init_subclass__(cls, of: type[ObjectiveConfig] | None = None) -> None:
        if of is not None:
            of.objective = cls

    def __init__(self, settings: ObjectiveConfig, parts: Parts) -> None:
        super().__init__()
        self.settings = settings

    @abstractmethod
    def losses(self, views: Views) -> Losses:
        """Return every loss with its weight, by its name in `captions`."""

    def forward(self, views: Views) -> Losses:
        """Return the losses, when PyTorch calls the module."""
        return self.losses(views)

    def after_step(self, model: WindowEncoder, step: int, total_steps: int) -> None:
        """Update the objective's own state, such as a slow encoder, after an optimiser step."""

    def encoders(self) -> Iterable[Encoder]:
        """Return the encoders of the model's size that the objective has, for `train.compile`."""
        return ()

    def export(self, model: WindowEncoder) -> None:
        """Copy into the exported model what the heads contribute to it."""


def weighted_sum(losses: Losses) -> Tensor:
    """Return an objective's term of L before its coefficient (eq. total-loss)."""
    first, *further = (weight * value for weight, value in losses.values())
    return sum(further, start=first)


def ramp(epoch: float, ramp_epochs: float) -> float:
    """Return the coefficient's ramp from 0 to 1 over `ramp_epochs` (§sec:values: E_ramp); 1 if that is 0."""
    return min(1.0, epoch / ramp_epochs) if ramp_epochs else 1.0


class NarrowConfig(ObjectiveConfig):
    """Values of an objective with a narrow transformer."""

    width: int = chosen(384, "half the encoder's, as in MAE and I-JEPA", gt=0)
    depth: int = chosen(4, "as in ST-MEM; I-JEPA has 6 to 12 at twice our width", gt=0)
    heads: int = chosen(6, "64 wide each", gt=0)

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self

    def predictor(self, shape: ModelConfig, leads: int, outputs: int | None = None) -> Predictor:
        """Build the transformer for an encoder's shape; its outputs have H's width or the given one."""
        return Predictor(
            leads, shape.positions, shape.width, self.width, self.depth, self.heads, shape.mlp_ratio, outputs
        )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost of the trained transformer."""
        return Flops(encoder_flops(shape.model_copy(update={"width": self.width, "depth": self.depth})), 0)
