"""Settings of a run, each with its source: the paper's section, or the reason for the choice.

A field's source is written where its default is: `paper(value, section)` or `chosen(value, why)`.
Here are the values that every run has; those of an objective are in its file in `marecg.objectives`, and the
whole of a run, a recipe, is in `marecg.recipes`.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticUndefined

from marecg.base.durations import DURATION, seconds_of
from marecg.base.errors import ConfigError

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""The lead order of every tensor in this package."""


Augmentation = Literal["unconstrained", "rhythm-safe", "denoised"]
"""The augmentation sets of Table component-ablation."""

Decay = Annotated[float, Field(ge=0, lt=1)]
"""A factor by which what was seen before counts less at every step."""

WINDOW = 4700
"""L in samples, the context and the trailing T_pred patches."""


def paper(default: Any = PydanticUndefined, where: str = "", **limits: Any) -> Any:
    """Declare a value from the paper, with its section."""
    return Field(default, json_schema_extra={"source": f"paper {where}"}, **limits)


def chosen(default: Any, why: str, **limits: Any) -> Any:
    """Declare a value that the paper leaves open, with the reason for the choice."""
    return Field(default, json_schema_extra={"source": f"chosen: {why}"}, **limits)


class Frozen(BaseModel):
    """Immutable model that refuses misspelt fields and numbers that aren't finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Share = Annotated[float, Field(ge=-1e-9, le=1 + 1e-9)]
"""A share or a probability; beyond 0 and 1 by the rounding of a mean alone."""
Count = Annotated[int, Field(ge=0)]
"""How many there are."""
FromZero = Annotated[float, Field(ge=0)]
"""A spread, a loss, a time."""


class Settings(Frozen):
    """Group of settings in which every value has a source."""


def sources(settings: type[Settings], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, source) for every value in a group and the groups below it."""
    for name, field in settings.model_fields.items():
        key = f"{prefix}{name}"
        kinds = (field.annotation, *get_args(field.annotation))
        groups = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Settings)]
        for group in groups:
            yield from sources(group, f"{key}.")
        if not groups:
            assert isinstance(field.json_schema_extra, dict), f"{key} has no source"
            yield key, str(field.json_schema_extra["source"])


def source_of(group: Settings, key: str) -> str:
    """Return the source of a value; for a changed value, the source of the default that it replaces."""
    source = dict(sources(type(group))).get(key, "")
    field = type(group).model_fields.get(key)
    if field is None or field.default_factory is not None or getattr(group, key) == field.default:
        return source
    return f"other than {field.default} ({source})"


class CorpusConfig(Settings):
    """Settings by which records become a prepared corpus."""

    fs: int = paper(500, "§sec:values", gt=0)
    window: int = paper(WINDOW, "§sec:values: L, the context and the trailing T_pred patches", gt=0)
    margin: float = chosen(0.5, "s beyond the window while resampling, longer than the filter", ge=0)
    shortest: float = chosen(5.0, "s; the shortest records of the Georgia collection", gt=0)
    amplitude_limit: float = chosen(10.0, "mV: beyond every QRS; artefacts in real files reach 12", gt=0)
    bridge_limit: float = chosen(0.1, "share of a lead beyond that which is bridged; 0: none", ge=0, lt=1)
    bridge_margin: float = chosen(0.1, "s before and after such a stretch, of its rise and its fall", ge=0)
    hidden_limit: int = chosen(3, "damaged chest leads that are hidden, half of the six; 0: none", ge=0, le=6)
    clip_level: float = chosen(0.2, "mV from the lead's median; nearer by, it rests rather than clips", ge=0)
    clip_limit: float = chosen(0.02, "share of a lead; unclipped real records stay below 0.01", gt=0)
    zero_limit: float = chosen(0.25, "share of a lead; below 0.13 in real ones, above 0.7 if unplugged", gt=0)
    flat_range: float = chosen(0.01, "mV peak to peak: two steps of a coarse converter", gt=0)
    montage_limit: float = chosen(0.3, "limb leads' misfit that is noted; real records have below 0.03", gt=0)
    rpeaks: Literal["pantompkins1985", "neurokit"] = paper(
        "pantompkins1985", "§Signal preprocessing; rpeaks.py refines it"
    )
    rpeaks_lead: Literal["I", "best"] = chosen(
        "best", "what all leads show together; I: lead I alone by `rpeaks`, as in the paper"
    )
    windows: str = chosen(
        "1",
        "of a long recording: so many, evenly spread; all, side by side; or such as `every 1h`",
        pattern=rf"^(all|[1-9]\d*|every {DURATION})$",
        coerce_numbers_to_str=True,
    )
    ptbxl_folds: tuple[Annotated[int, Field(ge=1, le=10)], ...] = chosen(
        (), "all of PTB-XL; 1 to 8 leave out what it is probed on"
    )
    ptbxl_rate: Literal[500, 100] = chosen(500, "Hz: records500, and records100 where they are absent")
    shard: int = chosen(2048, "records per file: 231 MB, and 500 files for a million records", gt=0)

    def starts(self, seconds: float) -> list[float]:
        """Return the seconds at which the windows of a recording begin.

        Example:
            >>> CorpusConfig(windows="3").starts(100), CorpusConfig(windows="all").starts(30)
            ([0.0, 45.3, 90.6], [0.0, 9.4, 18.8])
            >>> CorpusConfig(windows="every 1h").starts(9000), CorpusConfig(windows="3").starts(8)
            ([0.0, 3600.0, 7200.0], [0.0])
        """
        width = self.window / self.fs
        if self.windows.isdecimal():
            count = max(1, min(int(self.windows), int(seconds // width)))
            step = max(0.0, seconds - width) / max(1, count - 1)
        else:
            step = width if self.windows == "all" else seconds_of(self.windows.removeprefix("every "))
            count = max(1, int((seconds - self.shortest) // step) + 1)
        return [round(number * step, 3) for number in range(count)]

    @property
    def seconds_read(self) -> float:
        """Seconds of a recording that are read: the window and the margin behind it."""
        return self.window / self.fs + self.margin


class ModelConfig(Settings):
    """Encoder, its pooling, and the concept space in which its embeddings are read."""

    fs: int = paper(500, "§sec:values: f_s in Hz", gt=0)
    patch: int = paper(50, "§sec:values: P_t, 100 ms", gt=0)
    stride: int = paper(25, "§sec:values: S_t, 50 ms", gt=0)
    context: int = paper(
        3500, "§subsec:pretrain-corpus: the samples that the encoder sees, 139 patches", gt=0
    )
    positions: int = paper(
        default_factory=lambda given: _fit(given, WINDOW),
        where="§sec:values: T, the rows of e_pos; as many as the window has patches unless given",
        gt=0,
    )
    width: int = paper(768, "§sec:values: d", gt=0)
    depth: int = paper(12, "§Computational efficiency: a 12-layer encoder", gt=0)
    heads: int = chosen(12, "ViT-B, 64 wide each", gt=0)
    mlp_ratio: int = chosen(4, "ViT-B", gt=0)
    amplitude: bool = chosen(False, "the paper drops each lead's scale; small and base embed its logarithm")
    revin_eps: float = chosen(1e-4, "mV²: a lead flatter than 10 µV is not blown up to unit variance", gt=0)
    phases: int = chosen(
        1,
        "beginnings from which a window is read; small and base, whose patches do not overlap, have 3",
        gt=0,
    )
    modulation: bool = chosen(False, "the paper reads H alone; of small and base the wide readout has it too")
    queries: int = chosen(4, "Q, between MERL's 1 and MELP's 10–13", gt=0)
    eta: float = chosen(0.1, "η, the 'small fixed weight' of eq. rhythm-pool", ge=0)
    concepts: int | None = chosen(
        None, "N: as many as the graph of the corpus has; the paper's has 40 (§subsec:graph-structure)", gt=0
    )
    concept_width: int = chosen(
        256, "d_c: with d_e = 128 the concept side has the paper's 55 k parameters", gt=0
    )
    tau: float = chosen(0.07, "τ of eq. gscl-pred; MERL and MELP use 0.07", gt=0)

    @model_validator(mode="after")
    def _shapes_fit(self) -> "ModelConfig":
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if self.stride > self.patch:
            raise ValueError(f"stride {self.stride} is longer than patch {self.patch}: samples would be lost")
        if self.context < self.patch:
            raise ValueError(f"context {self.context} is shorter than one patch of {self.patch}")
        if self.context_patches > self.positions:
            raise ValueError(f"context {self.context} has more patches than positions {self.positions}")
        return self

    def of_concepts(self, count: int) -> "ModelConfig":
        """Return the settings with a graph's number N of concepts. Raises `ConfigError` for another N."""
        if self.concepts not in (None, count):
            problem = f"model.concepts is {self.concepts}, the ontology has {count} concepts"
            raise ConfigError(problem, remedy="Leave model.concepts out: N follows from the ontology")
        return self.model_copy(update={"concepts": count})

    def patches(self, samples: int) -> int:
        """Return the number of patches that fit into a number of samples."""
        return patch_count(samples, self.patch, self.stride)

    @property
    def context_patches(self) -> int:
        """Number T of patches in the encoder's context: 139 for 3500 samples."""
        return self.patches(self.context)


def patch_count(samples: int, patch: int, stride: int) -> int:
    """Return the number of patches of a given length and stride that fit into a signal."""
    return (samples - patch) // stride + 1


def _fit(given: dict[str, Any], window: int) -> int:
    """The patches of a window by values that passed; any number where one did not."""
    if "patch" not in given or "stride" not in given:
        return 1
    return max(1, patch_count(window, given["patch"], given["stride"]))


class MaskingConfig(Settings):
    """Masked pass: which (lead, patch) pairs the encoder does not see, the index set M (§Backbone)."""

    ratio: float = chosen(0.5, "r; HeartLang 0.5, ST-MEM 0.75, MAR 0.7–1", ge=0, lt=1)
    block_patches: int = chosen(1, "pairs one by one; longer stretches can't be interpolated", gt=0)
    block_leads: int = chosen(1, "likewise: leads that are hidden together", gt=0, le=len(LEADS))
    hidden_leads: bool = chosen(False, "whether leads that the regulariser hides are asked for too")


class CleanConfig(Settings):
    """Settings of the pass over the unmasked record."""

    supervised: bool = chosen(
        False, "the paper's one pass is masked; inference is not, and small and base learn as they are used"
    )
    augmentation: Augmentation | None = chosen(None, "what is supervised is the record as it is")
    crop: bool = chosen(False, "the context is the window's first part, in every epoch")


class SamplingConfig(Settings):
    """Settings of sampling: shares of sources, balance of leaves, sources without codes."""

    balance: float = chosen(0.0, "exponent of leaf frequency: 0 draws all alike, 1 every leaf alike", ge=0)
    shares: dict[str, Annotated[float, Field(ge=0)]] = chosen(
        {}, "share of the draws by source, such as of synthetic records"
    )
    without_codes: tuple[str, ...] = chosen((), "sources that are learnt from by their signals alone")
    codes_permuted: int | None = chosen(
        None,
        "a control: the seed, with the run's own, by which records exchange codes; none fits its signal",
        ge=0,
    )

    def seeded(self, seed: int) -> Self:
        """Return the settings for one seed of a run: permuted codes get another permutation per seed."""
        if self.codes_permuted is None:
            return self
        return self.model_copy(update={"codes_permuted": self.codes_permuted + seed})


class RegulariserConfig(Settings):
    """Lead masking and latent dropout (Table component-ablation)."""

    p_lead: float = paper(0.25, "§sec:values: a lead is hidden from the encoder", ge=0, lt=1)
    p_drop: float = paper(0.1, "§sec:values: latent dropout", ge=0, lt=1)


class TrainConfig(Settings):
    """The optimiser, its schedule and the run (§subsec:implementation)."""

    max_epochs: int = paper(100, "§subsec:implementation", gt=0)
    max_steps: int | None = chosen(None, "cuts a run short; warm-up and decay keep their shape", gt=0)
    batch_size: int = paper(8, "§subsec:implementation: per device", gt=0)
    accumulate: int = paper(4, "§subsec:implementation", gt=0)
    lr: float = paper(1e-4, "§subsec:implementation: the peak", gt=0)
    final_lr: float = paper(1e-6, "§subsec:implementation", ge=0)
    warmup_epochs: float = paper(10, "§subsec:implementation: linear", ge=0)
    betas: tuple[Decay, Decay] = paper((0.9, 0.999), "§subsec:implementation")
    weight_decay: float = paper(0.05, "§subsec:implementation", ge=0)
    average: float = chosen(
        0.0, "momentum of the weights' average that is exported; 0 exports the last", ge=0, lt=1
    )
    clip: float = paper(1.0, "§subsec:implementation: the gradient's norm", gt=0)
    seed: int = chosen(0, "every draw follows from it", ge=0)
    checkpoint_every: int = chosen(500, "optimiser steps between checkpoints", gt=0)
    monitor_every: int = chosen(100, "optimiser steps between looks at collapse", gt=0)
    devices: Annotated[int, Field(gt=0)] | Literal["auto"] = chosen(
        "auto", "every GPU of the node, or one CPU process"
    )
    nodes: int = chosen(1, "machines that take part, under torchrun or SLURM", gt=0)
    precision: Literal["auto", "32-true", "bf16-mixed"] = chosen("auto", "bf16 where a GPU has it")
    compile: bool = chosen(False, "torch.compile of the encoder: no gain on CPU")
    checkpoint_activations: bool = chosen(False, "recompute the encoder's blocks to save memory")

    @model_validator(mode="after")
    def _warms_up_in_time(self) -> "TrainConfig":
        if self.warmup_epochs > self.max_epochs:
            raise ValueError(
                f"warmup_epochs {self.warmup_epochs:g} is more than max_epochs {self.max_epochs}"
            )
        return self
