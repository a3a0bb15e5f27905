"""A recipe, everything that defines a run, and those that have a name (Table component-ablation).

Each named one is derived from the one before it.
"""

from collections.abc import Callable
from functools import partial
from typing import Self, TypeVar

from pydantic import model_validator

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
from marecg.model.flops import Flops, encoder_flops, step_flops
from marecg.objectives.ar import ArConfig
from marecg.objectives.gscl import GsclConfig
from marecg.objectives.jepa import JepaConfig
from marecg.objectives.mpct import MpctConfig
from marecg.objectives.msps import MspsConfig
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.view import ViewConfig

T = TypeVar("T", bound=ObjectiveConfig)


class Config(Settings):
    """A recipe: everything that defines a run.

    `data` is how its corpus is prepared; an objective that is None is not part of the run. Objectives are
    asked in the order in which they stand here, so their draws are too.
    """

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

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if not self.objectives:
            raise ValueError("the recipe has no objective: there is nothing to train for")
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
        values = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value for name, value in values if isinstance(value, ObjectiveConfig)}

    @property
    def captions(self) -> dict[str, str]:
        """Every loss of the run, a column of metrics.csv, with what it measures."""
        return {name: meaning for each in self.objectives.values() for name, meaning in each.captions.items()}

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
    return _derived(c1(), name="c1-gscl", gscl=GsclConfig())


def c2p() -> Config:
    """C2′: C1 with the auxiliary self-supervised stack and the multi-prototype head."""
    return _derived(
        c1(),
        name="c2p",
        jepa=JepaConfig(),
        view=ViewConfig(),
        regulariser=RegulariserConfig(),
        mpct=MpctConfig(),
    )


def c2() -> Config:
    """C2: C2′ with graph-smoothed contrastive learning."""
    return _derived(c2p(), name="c2", gscl=GsclConfig())


def c3() -> Config:
    """C3: C2 with multi-scale physiological supervision and views that leave the beats where they are."""
    return _derived(c2(), name="c3", view=ViewConfig(augmentation="rhythm-safe"), msps=MspsConfig())


def tiny(recipe: Callable[[], Config] = c1_gscl, name: str = "tiny") -> Config:
    """A recipe at a size that two CPU cores train in minutes; C1 with GSCL where none is named.

    Patches of 200 ms without overlap make 35 of the context's 139; in the few steps of such a run the graph
    teaches more than reconstruction, so less is masked and GSCL weighs more.
    """
    full = recipe()
    narrow = {"width": 32, "depth": 1, "heads": 2}
    return _derived(
        full,
        name=name,
        model=ModelConfig(
            patch=100, stride=100, positions=47, width=64, depth=2, heads=4, mlp_ratio=2, concept_width=32
        ),
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
        positions=47,
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
        positions=94,
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
    return _derived(
        full,
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
    """The recipe of that name.

    Raises:
        ConfigError: there is none.
    """
    if name not in RECIPES:
        raise ConfigError(f"there is no recipe {name!r}", remedy=f"Choose one of {', '.join(RECIPES)}")
    return RECIPES[name]()


def _derived(base: Config, **changes: object) -> Config:
    return base.model_copy(update=changes)


def _changed(objective: T | None, **changes: object) -> T | None:
    return objective and objective.model_copy(update=changes)
