"""A recipe, everything that defines a run, and those that have a name (Table component-ablation).

Each named one is derived from the one before it.

Example:
    >>> from marecg import recipes
    >>> list(recipes.c3().objectives)
    ['ar', 'jepa', 'view', 'gscl', 'msps', 'mpct']
"""

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, Self, TypeVar

from pydantic import ConfigDict, ValidationError, ValidationInfo, model_validator

from ecg_ontology import Ontology
from marecg.config import (
    CleanConfig,
    CorpusConfig,
    MaskingConfig,
    ModelConfig,
    RegulariserConfig,
    SamplingConfig,
    Settings,
    TrainConfig,
    chosen,
)
from marecg.corpus.prepared import Corpus
from marecg.corpus.supervision import Supervision
from marecg.errors import ConfigError
from marecg.extensions import named
from marecg.model.flops import Flops, encoder_flops, step_flops
from marecg.objectives.ar import ArConfig
from marecg.objectives.gscl import GsclConfig
from marecg.objectives.jepa import JepaConfig
from marecg.objectives.mpct import MpctConfig
from marecg.objectives.msps import MspsConfig
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.registry import Elsewhere, installed
from marecg.objectives.view import ViewConfig

T = TypeVar("T", bound=ObjectiveConfig)

COLUMNS = ("step", "epoch", "loss", "lr")
"""Of metrics.csv, before the losses."""


class Config(Settings):
    """A recipe: everything that defines a run.

    `data` is how its corpus is prepared; an objective that is None is not part of the run. Objectives are
    asked in the order in which they stand here, so their draws are too. One from outside this package comes
    after ours, under a name of its own: `c1().derived(toy=Toy())`.
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
        """Every value that no field is for is an objective from outside, or a mistake.

        The context may hold `kinds`, the classes of such objectives, or `elsewhere`: that what is not
        installed is to be kept as it is.
        """
        if not isinstance(values, dict):
            return values
        context = info.context or {}
        if context.get("elsewhere"):
            values = _since_masking(values)
        told = {name: value for name, value in values.items() if name in cls.model_fields}
        for name, value in values.items():
            if name not in told and value is not None:
                told[name] = _outsider(name, value, context)
        return told

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.objectives:
            raise ValueError("the recipe has no objective: there is nothing to train for")
        if "positions" not in self.model.model_fields_set:  # they follow the window
            self.__dict__["model"] = self.model.model_copy(update={"positions": max(1, self.window_patches)})
        losses = [loss for each in self.objectives.values() for loss in each.captions]
        for loss in losses:
            if losses.count(loss) > 1 or loss in COLUMNS:
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
        return self

    @property
    def window_patches(self) -> int:
        """S: the patches of the record window."""
        return self.model.patches(self.data.window)

    @property
    def objectives(self) -> dict[str, ObjectiveConfig]:
        """The objectives of the run by name, in the order in which they are asked."""
        outside = self.model_extra or {}
        values = ((name, getattr(self, name)) for name in (*type(self).model_fields, *outside))
        return {name: value for name, value in values if isinstance(value, ObjectiveConfig)}

    @property
    def captions(self) -> dict[str, str]:
        """Every loss of the run, a column of metrics.csv, with what it measures."""
        return {name: meaning for each in self.objectives.values() for name, meaning in each.captions.items()}

    def derived(self, **changes: object) -> Self:
        """The recipe with other values, checked as a whole: `derived(name="mine", jepa=None, toy=Toy())`."""
        return self.model_validate({**dict(self), **changes})

    def supervision(self, corpus: Corpus, ontology: Ontology) -> Supervision:
        """What supervises a corpus under this recipe's σ, rule and thresholds."""
        return Supervision.of(
            corpus,
            ontology,
            self.model.model_copy(update={"context": self.data.window}) if self.clean.crop else self.model,
            self.gscl,
            self.msps,
            without_codes=self.sampling.without_codes,
            standardised=self.msps is not None and self.msps.z_score == "corpus",
        )

    def step_flops(self) -> int:
        """One record's arithmetic in a training step."""
        added = [each.flops(self.model, self.window_patches) for each in self.objectives.values()]
        taught = self.clean.supervised and (self.gscl or self.msps or self.mpct)
        if taught and not (self.view and self.view.augmentation == self.clean.augmentation):
            added.append(Flops(encoder_flops(self.model), 0))
        return step_flops(self.model, added)


def c1() -> Config:
    """C1: masked autoregressive reconstruction alone."""
    return Config(name="c1")


def c1_gscl() -> Config:
    """C1 with graph-smoothed contrastive learning and nothing else: what the graph alone adds."""
    return c1().derived(name="c1-gscl", gscl=GsclConfig())


def c2p() -> Config:
    """C2′: C1 with the auxiliary self-supervised stack and the multi-prototype head."""
    return c1().derived(
        name="c2p",
        jepa=JepaConfig(),
        view=ViewConfig(),
        regulariser=RegulariserConfig(),
        mpct=MpctConfig(),
    )


def c2() -> Config:
    """C2: C2′ with graph-smoothed contrastive learning."""
    return c2p().derived(name="c2", gscl=GsclConfig())


def c3() -> Config:
    """C3: C2 with multi-scale physiological supervision and views that leave the beats where they are."""
    return c2().derived(name="c3", view=ViewConfig(augmentation="rhythm-safe"), msps=MspsConfig())


def tiny(recipe: Callable[[], Config] = c1_gscl, name: str = "tiny") -> Config:
    """A recipe at a size that two CPU cores train in minutes; C1 with GSCL where none is named.

    Patches of 200 ms without overlap make 35 of the context's 139; in the few steps of such a run the graph
    teaches more than reconstruction, so less is masked and GSCL weighs more.
    """
    full = recipe()
    narrow = {"width": 32, "depth": 1, "heads": 2}
    return full.derived(
        name=name,
        model=ModelConfig(patch=100, stride=100, width=64, depth=2, heads=4, mlp_ratio=2, concept_width=32),
        masking=MaskingConfig(ratio=0.3),
        ar=full.ar and full.ar.model_copy(update=narrow),
        jepa=full.jepa and full.jepa.model_copy(update=narrow),
        gscl=full.gscl and full.gscl.model_copy(update={"weight": 2.0, "node_width": 32}),
        train=TrainConfig(batch_size=16, accumulate=1, lr=2e-3, final_lr=1e-5, checkpoint_every=50),
    )


def small(recipe: Callable[[], Config] = c3, name: str = "small") -> Config:
    """A recipe, C3 where none is named, at a size that one CPU core trains in an hour or two."""
    model = ModelConfig(
        patch=100,
        stride=100,
        width=64,
        depth=2,
        heads=2,
        mlp_ratio=2,
        concept_width=64,
        tau=0.2,
        amplitude=True,
    )
    train = TrainConfig(
        max_epochs=18,
        warmup_epochs=0.7,
        batch_size=32,
        accumulate=1,
        lr=2e-3,
        final_lr=2e-5,
        average=0.998,
        checkpoint_every=100,
    )
    return _as_it_is_used(recipe(), name, model, train, {"width": 64, "depth": 1, "heads": 2})


def base(recipe: Callable[[], Config] = c3, name: str = "base") -> Config:
    """The same for one GPU, and patches of 100 ms."""
    model = ModelConfig(
        stride=50,
        width=384,
        depth=6,
        heads=6,
        concept_width=128,
        tau=0.2,
        amplitude=True,
    )
    train = TrainConfig(
        max_epochs=60,
        warmup_epochs=3,
        batch_size=64,
        accumulate=1,
        lr=5e-4,
        final_lr=5e-6,
        average=0.999,
    )
    return _as_it_is_used(recipe(), name, model, train, {"width": 192, "depth": 2, "heads": 3})


def _as_it_is_used(
    full: Config, name: str, model: ModelConfig, train: TrainConfig, narrow: dict[str, int]
) -> Config:
    """A recipe that learns as its encoder will be used; the paper's size and length can do without.

    The supervision reads a clean, augmented, randomly cropped pass, as inference does; tokens carry their
    lead's amplitude; whole blocks are masked; rare leaves are drawn more often; what is exported is an
    average of the weights. docs/pretrained.md measures each of them.
    """
    return full.derived(
        name=name,
        model=model,
        sampling=SamplingConfig(balance=0.5),
        masking=MaskingConfig(block_patches=400 // model.stride, block_leads=3, hidden_leads=True),
        clean=CleanConfig(supervised=True, augmentation="rhythm-safe", crop=True),
        regulariser=full.regulariser and RegulariserConfig(p_lead=0.1, p_drop=0.0),
        ar=_changed(full.ar, **narrow),
        jepa=_changed(full.jepa, **narrow, horizon=0.05),
        view=_changed(full.view, weight=0.2, tau=0.1, width=128, augmentation="rhythm-safe"),
        gscl=_changed(full.gscl, sigma=0.4, rule="most-specific", node_width=64),
        msps=_changed(full.msps, ramp_epochs=1.0, hidden=128, z_score="corpus"),
        train=train,
    )


RECIPES: dict[str, Callable[[], Config]] = {
    "c1": c1,
    "c1-gscl": c1_gscl,
    "c2p": c2p,
    "c2": c2,
    "c3": c3,
    "small": small,
    "small-c1": partial(small, c1, "small-c1"),
    "small-c2p": partial(small, c2p, "small-c2p"),
    "small-c2": partial(small, c2, "small-c2"),
    "base": base,
    "tiny": tiny,
    "tiny-c1": partial(tiny, c1, "tiny-c1"),
    "tiny-c2p": partial(tiny, c2p, "tiny-c2p"),
    "tiny-c2": partial(tiny, c2, "tiny-c2"),
    "tiny-c3": partial(tiny, c3, "tiny-c3"),
}
"""Every recipe by the name that `marecg train --recipe` takes."""


def by_name(name: str) -> Config:
    """The recipe of that name, of an entry point in `marecg.recipes`, or what `FILE.py:NAME` returns.

    Raises:
        ConfigError: the function fails, or returns something else.
        UsageError: there is none of that name.
    """
    make: Callable[[], object] = named(name, RECIPES, FunctionType, "recipe")
    try:
        config = make()
    except Exception as error:
        raise ConfigError(f"fails ({type(error).__name__}: {error})", where=name) from error
    if not isinstance(config, Config):
        raise ConfigError(f"returns {type(config).__name__}, not a Config", where=name)
    return config


def _outsider(name: str, value: Any, context: dict[str, Any]) -> ObjectiveConfig:
    if isinstance(value, ObjectiveConfig):
        return value
    kind = {**installed(), **context.get("kinds", {})}.get(name)
    if kind is None and context.get("elsewhere"):
        kind = Elsewhere
    if kind is None:
        raise ValueError(f"there is no value and no objective named {name!r}")
    try:
        outsider: ObjectiveConfig = kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{name}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    return outsider


def _changed(objective: T | None, **changes: object) -> T | None:
    return objective and objective.model_copy(update=changes)


def _since_masking(values: dict[str, Any]) -> dict[str, Any]:
    """A recipe kept before `masking` was a group of its own: reports can still be made of its run."""
    ar = values.get("ar")
    if "masking" in values or not isinstance(ar, dict) or "mask_ratio" not in ar:
        return values
    rest = {name: value for name, value in ar.items() if name != "mask_ratio"}
    return {**values, "ar": rest, "masking": {"ratio": ar["mask_ratio"]}}
