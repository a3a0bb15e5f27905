"""Schema of a recipe, which contains all settings of a run. Named recipes are in `named.py`."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from ecg_ontology import Ontology
from marecg.base.requirements import requirement
from marecg.corpus.config import CorpusConfig, SamplingConfig
from marecg.errors import ConfigError
from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops, step_flops
from marecg.objectives.ar import ArConfig
from marecg.objectives.gscl import GsclConfig
from marecg.objectives.jepa import JepaConfig
from marecg.objectives.mpct import MpctConfig
from marecg.objectives.msps import MspsConfig
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.registry import NotInstalled, installed
from marecg.objectives.view import ViewConfig
from marecg.objectives.views import CleanConfig, MaskingConfig, RegulariserConfig
from marecg.settings import Settings, chosen, paper

STEP_COLUMNS = ("step", "epoch", "loss", "lr")
"""Columns of metrics.csv before the losses."""


Decay = Annotated[float, Field(ge=0, lt=1)]
"""A factor by which the weight of earlier values decreases at every step."""


class TrainConfig(Settings):
    """Settings of the optimiser, its schedule and the run."""

    max_epochs: int = paper(100, "§subsec:implementation", gt=0)
    max_steps: int | None = chosen(None, "ends a run early; the learning rate schedule keeps its shape", gt=0)
    batch_size: int = paper(8, "§subsec:implementation: largest number of records per device at a time", gt=0)
    accumulate: int | None = chosen(
        None, "micro-batches per device; by default as many as global_batch_size needs", gt=0
    )
    lr: float = paper(1e-4, "§subsec:implementation: the peak", gt=0)
    final_lr: float = paper(1e-6, "§subsec:implementation", ge=0)
    warmup_epochs: float = paper(10, "§subsec:implementation: linear", ge=0)
    betas: tuple[Decay, Decay] = paper((0.9, 0.999), "§subsec:implementation")
    weight_decay: float = paper(0.05, "§subsec:implementation", ge=0)
    average: float = chosen(
        0.0, "momentum of the exported average of weights; 0 exports the last weights", ge=0, lt=1
    )
    clip: float = paper(1.0, "§subsec:implementation: the gradient's norm", gt=0)
    seed: int = chosen(0, "determines all random numbers of the run", ge=0)
    checkpoint_every: int = chosen(500, "optimiser steps between checkpoints", gt=0)
    monitor_every: int = chosen(100, "optimiser steps between checks for collapse", gt=0)
    devices: Annotated[int, Field(gt=0)] | Literal["auto"] = chosen(
        "auto", "devices of torchrun or SLURM; otherwise all GPUs, or the CPU"
    )
    nodes: Annotated[int, Field(gt=0)] | Literal["auto"] = chosen(
        "auto", "machines of torchrun or SLURM; otherwise 1"
    )
    precision: Literal["auto", "32-true", "bf16-mixed"] = chosen("auto", "bf16 if the GPU supports it")
    compile: bool = chosen(False, "compiles the encoder; no gain on CPU")
    checkpoint_activations: bool = chosen(False, "recomputes activations to save memory")
    global_batch_size: int | None = paper(
        64, "§subsec:implementation: records per step on all devices together, 2 × 8 × 4", gt=0
    )

    @model_validator(mode="before")
    @classmethod
    def _batch_by_accumulation(cls, values: Any) -> Any:
        """Set the global batch size to None if `accumulate` is set, because `accumulate` determines it."""
        if isinstance(values, dict) and values.get("accumulate") is not None:
            return {"global_batch_size": None} | values
        return values

    @model_validator(mode="after")
    def _warms_up_in_time(self) -> "TrainConfig":
        if self.warmup_epochs > self.max_epochs:
            raise ValueError(
                f"warmup_epochs must be at most max_epochs ({self.max_epochs}), got {self.warmup_epochs:g}"
            )
        return self

    @model_validator(mode="after")
    def _has_one_batch(self) -> "TrainConfig":
        if (self.accumulate is None) == (self.global_batch_size is None):
            found = "neither" if self.accumulate is None else "both"
            raise ValueError(f"either global_batch_size or accumulate must be a number, got {found}")
        return self

    def records_per_step(self, processes: int = 1) -> int:
        """Return the total number of records per optimiser step on all devices.

        Example:
            >>> TrainConfig().records_per_step(2), TrainConfig(accumulate=4).records_per_step(2)
            (64, 64)
            >>> TrainConfig().records_per_step(8), TrainConfig(accumulate=4).records_per_step(8)
            (64, 256)
        """
        return self.global_batch_size or self.batch_size * (self.accumulate or 1) * processes

    def micro_batches(self, processes: int) -> tuple[int, int]:
        """Return the size of a micro-batch, and the number of micro-batches per device and step.

        The size is at most `batch_size`, and divides a device's share of the step. Raises `ConfigError` if
        the devices can't have equal shares.

        Example:
            >>> TrainConfig().micro_batches(1), TrainConfig().micro_batches(16)
            ((8, 8), (4, 1))
        """
        records = self.records_per_step(processes)
        share, rest = divmod(records, processes)
        if rest:
            must = f"train.global_batch_size must be a multiple of the number of devices ({processes})"
            remedy = "Train on another number of devices, or change train.global_batch_size"
            raise ConfigError(f"{must}, got {records}", remedy=remedy)
        size = next(size for size in range(min(share, self.batch_size), 0, -1) if not share % size)
        return size, share // size


class Config(Settings):
    """Recipe: all settings of a run.

    `data` contains the settings for preparing a corpus. The run's corpus must have its `fs` and `window`.
    An objective that is None isn't part of the run. Objectives are evaluated in the order of the fields, so
    that their random draws have a fixed order. To add an objective from another package, pass it under its
    own name: `c1().derived(toy=Toy())`. It is evaluated after the built-in objectives.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str = chosen("c1", "the recipe's name")
    data: CorpusConfig = CorpusConfig()
    model: ModelConfig = ModelConfig()
    sampling: SamplingConfig = SamplingConfig()
    masking: MaskingConfig = MaskingConfig()
    clean: CleanConfig = CleanConfig()
    regulariser: RegulariserConfig | None = None
    ar: ArConfig | None = ArConfig()
    jepa: JepaConfig | None = None
    view: ViewConfig | None = None
    gscl: GsclConfig | None = None
    msps: MspsConfig | None = None
    mpct: MpctConfig | None = None
    train: TrainConfig = TrainConfig()

    @model_validator(mode="before")
    @classmethod
    def _from_outside(cls, values: Any, info: ValidationInfo) -> Any:
        """Read unknown fields as objectives from other packages. Any other unknown field is an error.

        The validation context may contain three keys. `kinds` has the settings classes of such objectives by
        name. `strict` is pydantic's strictness for their values. If `elsewhere` is True, objectives that
        aren't installed are kept.
        """
        if not isinstance(values, dict):
            return values
        context = info.context or {}
        fields = {name: value for name, value in values.items() if name in cls.model_fields}
        for name, value in values.items():
            if name not in fields and value is not None:
                fields[name] = _plugin_objective(name, value, context)
        return fields

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        if not self.objectives:
            raise ValueError("a recipe must have at least one objective")
        if "positions" not in self.model.model_fields_set:  # positions follow the window
            self.__dict__["model"] = self.model.model_copy(update={"positions": max(1, self.window_patches)})
        losses = [loss for objective in self.objectives.values() for loss in objective.captions]
        for loss in losses:
            if losses.count(loss) > 1 or loss in STEP_COLUMNS:
                raise ValueError(f"loss names must be unique columns of metrics.csv, got {loss!r} twice")
        if self.data.fs != self.model.fs:
            raise ValueError(f"model.fs must be the same as data.fs ({self.data.fs}), got {self.model.fs}")
        if not self.model.context_patches < self.window_patches <= self.model.positions:
            raise ValueError(
                f"data.window must have more patches than the context ({self.model.context_patches}) and at "
                f"most model.positions ({self.model.positions}), got {self.window_patches} patches in "
                f"{self.data.window} samples"
            )
        if self.ar and self.model.context_patches * self.model.stride < self.model.patch:
            raise ValueError(
                "model.context must contain a patch that ends before the first patch after the context "
                f"begins, because the decoder of ar reads it; got {self.model.context} samples"
            )
        if self.clean.supervised and self.clean.augmentation == "unconstrained" and (self.msps or self.mpct):
            raise ValueError(
                "clean.augmentation must not be 'unconstrained', which moves the beats that msps and mpct "
                "read. Use 'rhythm-safe', or omit msps and mpct"
            )
        return self

    @property
    def window_patches(self) -> int:
        """Number S of patches in the window of a record."""
        return self.model.patches(self.data.window)

    @property
    def objectives(self) -> dict[str, ObjectiveConfig]:
        """Objectives of the run by name, in the order of evaluation."""
        outside = self.model_extra or {}
        values = ((name, getattr(self, name)) for name in (*type(self).model_fields, *outside))
        return {name: value for name, value in values if isinstance(value, ObjectiveConfig)}

    @property
    def captions(self) -> dict[str, str]:
        """Captions of the run's losses by the names of the losses, which are columns of metrics.csv."""
        return {name: text for part in self.objectives.values() for name, text in part.captions.items()}

    def derived(self, **changes: object) -> Self:
        """Return the recipe with validated changes, such as `derived(name="mine", jepa=None, toy=Toy())`."""
        return self.model_validate({**dict(self), **changes})

    def of_ontology(self, ontology: Ontology) -> Self:
        """Return the recipe with `model.concepts` set to the number of concepts in an ontology.

        Raises:
            ConfigError: If the recipe already has another number of concepts.
        """
        return self.derived(model=self.model.of_concepts(len(ontology)))

    def step_flops(self) -> int:
        """Return the floating-point operations for a record in a training step."""
        added = [objective.flops(self.model, self.window_patches) for objective in self.objectives.values()]
        of_codes = any(objective.needs_codes for objective in self.objectives.values())
        coded = self.gscl or self.msps or self.mpct or (self.ar and of_codes)
        supervises_clean_pass = self.clean.supervised and coded
        if supervises_clean_pass and not (self.view and self.view.augmentation == self.clean.augmentation):
            added.append(Flops(encoder_flops(self.model), 0))
        return step_flops(self.model, added)


def _plugin_objective(name: str, value: Any, context: dict[str, Any]) -> ObjectiveConfig:
    """Return the settings of an objective from another package. Raises `ValueError` if it isn't known."""
    if isinstance(value, ObjectiveConfig):
        return value
    group = {**installed(), **context.get("kinds", {})}.get(name)
    if group is None and context.get("elsewhere"):
        group = NotInstalled
    if group is None:
        raise ValueError(f"unknown setting or objective {name!r}")
    try:
        objective: ObjectiveConfig = group.model_validate(value, strict=context.get("strict"))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{name}.{'.'.join(map(str, first['loc']))} {requirement(first)}") from error
    return objective
