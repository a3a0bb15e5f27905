"""Schema of a recipe, which defines a run, and the settings of training. Named recipes are in `named.py`."""

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
"""A factor that reduces the weight of earlier values at every step."""


class TrainConfig(Settings):
    """Settings of the optimiser, its schedule and the run (§subsec:implementation)."""

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
        """Set the global batch size to None if `accumulate` is given, because `accumulate` determines it."""
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
            given = "neither" if self.accumulate is None else "both"
            raise ValueError(f"either global_batch_size or accumulate must be a number, got {given}")
        return self

    def records_per_step(self, processes: int = 1) -> int:
        """Return the number of records per optimiser step on all devices together.

        Example:
            >>> TrainConfig().records_per_step(2), TrainConfig(accumulate=4).records_per_step(2)
            (64, 64)
            >>> TrainConfig().records_per_step(8), TrainConfig(accumulate=4).records_per_step(8)
            (64, 256)
        """
        return self.global_batch_size or self.batch_size * (self.accumulate or 1) * processes

    def micro_batches(self, processes: int) -> tuple[int, int]:
        """Return the size of a micro-batch, and the number of micro-batches per device and step.

        The size is the largest divisor of a device's share of the step that is at most `batch_size`.
        Raises `ConfigError` if the devices can't have equal shares.

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
    """Recipe, which contains everything that defines a run.

    `data` has the settings for preparing the corpus. An objective that is None is not part of the run.
    Objectives are evaluated in the order of the fields, which fixes the order of their random draws. An
    objective from another package follows the built-in objectives, under its own name:
    `c1().derived(toy=Toy())`.
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
        """Read unknown fields as objectives of other packages. Any other unknown field is an error.

        The validation context may contain `kinds`, the classes of such objectives, and `strict`, which
        applies to their values. With `elsewhere`, objectives that aren't installed are kept unchanged.
        """
        if not isinstance(values, dict):
            return values
        context = info.context or {}
        fields = {name: value for name, value in values.items() if name in cls.model_fields}
        for name, value in values.items():
            if name not in fields and value is not None:
                fields[name] = _outsider(name, value, context)
        return fields

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.objectives:
            raise ValueError("a recipe must have at least one objective")
        if "positions" not in self.model.model_fields_set:  # positions follow the window
            self.__dict__["model"] = self.model.model_copy(update={"positions": max(1, self.window_patches)})
        losses = [loss for objective in self.objectives.values() for loss in objective.captions]
        for loss in losses:
            if losses.count(loss) > 1 or loss in STEP_COLUMNS:
                raise ValueError(f"a loss named {loss!r} would share its column of metrics.csv with another")
        if self.data.fs != self.model.fs:
            raise ValueError(
                f"data.fs is {self.data.fs} and model.fs {self.model.fs}: the encoder reads the corpus at "
                "its rate, so set both alike"
            )
        if not self.model.context_patches < self.window_patches <= self.model.positions:
            raise ValueError(
                f"a window of {self.data.window} samples has {self.window_patches} patches; the context has "
                f"{self.model.context_patches} of them, and there are {self.model.positions} positions"
            )
        if self.ar and self.model.context_patches * self.model.stride < self.model.patch:
            raise ValueError(
                f"a context of {self.model.context} samples has no patch that ends before the first trailing "
                "one begins, and the decoder of ar reads that"
            )
        if self.clean.supervised and self.clean.augmentation == "unconstrained" and (self.msps or self.mpct):
            raise ValueError(
                "clean.augmentation 'unconstrained' moves the beats that msps and mpct read there: make it "
                "'rhythm-safe', or leave them out"
            )
        return self

    @property
    def window_patches(self) -> int:
        """Number S of patches in the record window."""
        return self.model.patches(self.data.window)

    @property
    def objectives(self) -> dict[str, ObjectiveConfig]:
        """Objectives of the run by name, in the order of evaluation."""
        outside = self.model_extra or {}
        values = ((name, getattr(self, name)) for name in (*type(self).model_fields, *outside))
        return {name: value for name, value in values if isinstance(value, ObjectiveConfig)}

    @property
    def captions(self) -> dict[str, str]:
        """Captions of all losses of the run, by loss. Losses are columns of metrics.csv."""
        return {name: text for part in self.objectives.values() for name, text in part.captions.items()}

    def derived(self, **changes: object) -> Self:
        """Return the recipe with changed values, validated: `derived(name="mine", jepa=None, toy=Toy())`."""
        return self.model_validate({**dict(self), **changes})

    def of_ontology(self, ontology: Ontology) -> Self:
        """Return the recipe with as many concepts as a graph has.

        Raises:
            ConfigError: the recipe already has another number of concepts.
        """
        return self.derived(model=self.model.of_concepts(len(ontology)))

    def step_flops(self) -> int:
        """Return one record's cost in a training step."""
        added = [objective.flops(self.model, self.window_patches) for objective in self.objectives.values()]
        of_codes = any(objective.needs_codes for objective in self.objectives.values())
        coded = self.gscl or self.msps or self.mpct or (self.ar and of_codes)
        taught = self.clean.supervised and coded
        if taught and not (self.view and self.view.augmentation == self.clean.augmentation):
            added.append(Flops(encoder_flops(self.model), 0))
        return step_flops(self.model, added)


def _outsider(name: str, value: Any, context: dict[str, Any]) -> ObjectiveConfig:
    if isinstance(value, ObjectiveConfig):
        return value
    kind = {**installed(), **context.get("kinds", {})}.get(name)
    if kind is None and context.get("elsewhere"):
        kind = NotInstalled
    if kind is None:
        raise ValueError(f"there is no value and no objective named {name!r}")
    try:
        outsider: ObjectiveConfig = kind.model_validate(value, strict=context.get("strict"))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{name}.{'.'.join(map(str, first['loc']))} {requirement(first)}") from error
    return outsider
