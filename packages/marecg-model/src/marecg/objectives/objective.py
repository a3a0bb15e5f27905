"""Interface of training objectives.

An objective needs two classes. A subclass of `ObjectiveConfig` declares its settings, each with its source. A
subclass of `Objective` contains its heads and computes its losses. Both are in the same file, in this folder
or in another package. For a minimal example, see docs/extending.md.
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
from marecg.model.mar_ecg import MarEcg
from marecg.nn.encoder import Encoder
from marecg.nn.heads import Predictor
from marecg.objectives.views import Views
from marecg.settings import Settings, chosen, paper

Part = Literal["pool", "to_concepts"]
"""Parts of the model that only some objectives use.

`pool` computes h_rhythm, the embedding of a record. `to_concepts` maps h_rhythm to the concept space.
"""

Losses = dict[str, tuple[float, Tensor]]
"""Losses of an objective, by their names in `captions`. Each value is a weight and an unweighted loss."""


class Parts(NamedTuple):
    """Inputs from which an objective builds its heads.

    Attributes:
        shape: settings of the encoder.
        model: model that is trained.
        ontology: concepts of the model.
        texts: file in which sentence embeddings of the concepts' texts are stored. None to store nothing.
    """

    shape: ModelConfig
    model: MarEcg
    ontology: Ontology
    texts: Path | None = None


class ObjectiveConfig(Settings):
    """Settings of an objective, such as its coefficient in the total loss (`weight`).

    Attributes:
        captions: description of each loss by the loss's name. The names are columns of metrics.csv.
        needs_codes: whether the objective learns from the concepts of records. If so, training refuses a
            corpus whose records have no leaf concepts.
        objective: class that uses these settings, set by `class Mine(Objective, of=MineConfig)`.
    """

    captions: ClassVar[Mapping[str, str]] = {}
    needs_codes: ClassVar[bool] = False
    objective: ClassVar[type["Objective"]]

    weight: float = paper(1.0, "eq. total-loss: no coefficient", ge=0)
    ramp_epochs: float = chosen(0.0, "full weight from the first step", ge=0)

    def build(self, parts: Parts) -> "Objective":
        """Build the objective with these settings. Raises `ConfigError` if no objective uses this class."""
        if not hasattr(self, "objective"):
            remedy = f"Install its package, or write class Mine(Objective, of={type(self).__name__})"
            raise ConfigError("no objective uses these settings", where=repr(self), remedy=remedy)
        return self.objective(self, parts)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the operations per record that this objective adds to a training step, without small heads.

        Every step already encodes the masked record. Its operations don't count here.

        Args:
            shape: settings of the encoder.
            window_patches: number of patches of a record, including the patches after the encoder's context.
        """
        return Flops(0, 0)

    def share(self, epoch: float) -> float:
        """Return the objective's coefficient at an epoch. It rises linearly over `ramp_epochs`."""
        return self.weight * ramp(epoch, self.ramp_epochs)


class Objective(nn.Module, ABC):
    """Objective of a run, with heads that are discarded after training.

    Attributes:
        reaches: optional parts of the model that the losses use: `pool`, which computes h_rhythm
            (the embedding of a record), and `to_concepts`, which maps h_rhythm to the concept space. A part
            that no objective uses gets no gradient.
        settings: settings of the objective.
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
        """Return the weight and the value of each loss, by the loss's name in `captions`."""

    def forward(self, views: Views) -> Losses:
        """Return `losses(views)`. PyTorch calls this method."""
        return self.losses(views)

    def after_step(self, model: MarEcg, step: int, total_steps: int) -> None:
        """Update the objective's own state, such as a slow encoder, after an optimiser step.

        Args:
            model: model in training.
            step: number of optimiser steps so far, including this step.
            total_steps: number of optimiser steps of the whole run.
        """

    def encoders(self) -> Iterable[Encoder]:
        """Return the objective's own encoders, to be compiled if the setting `train.compile` is True."""
        return ()

    def export(self, model: MarEcg) -> None:
        """Copy what the model needs from the heads into the exported model."""


def weighted_sum(losses: Losses) -> Tensor:
    """Return the weighted sum of an objective's losses, not yet multiplied by the objective's coefficient."""
    first, *further = (weight * value for weight, value in losses.values())
    return sum(further, start=first)


def ramp(epoch: float, ramp_epochs: float) -> float:
    """Return the factor of a coefficient at an epoch, which rises linearly from 0 to 1 over `ramp_epochs`.

    The factor is always 1 if `ramp_epochs` is 0.
    """
    return min(1.0, epoch / ramp_epochs) if ramp_epochs else 1.0


class NarrowConfig(ObjectiveConfig):
    """Settings of an objective whose head is a transformer narrower than the encoder."""

    width: int = chosen(384, "half the encoder's width, as in MAE and I-JEPA", gt=0)
    depth: int = chosen(4, "as in ST-MEM; I-JEPA uses 6 to 12", gt=0)
    heads: int = chosen(6, "64 features per head", gt=0)

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads ({self.heads}), got {self.width}")
        return self

    def predictor(self, shape: ModelConfig, leads: int, outputs: int | None = None) -> Predictor:
        """Build the transformer for an encoder and a number of leads.

        `outputs` is the width of the transformer's output, or None for the encoder's width.
        """
        return Predictor(
            leads, shape.positions, shape.width, self.width, self.depth, self.heads, shape.mlp_ratio, outputs
        )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the operations per record of the trained transformer."""
        return Flops(encoder_flops(shape.model_copy(update={"width": self.width, "depth": self.depth})), 0)
