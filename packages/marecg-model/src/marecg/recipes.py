"""The runs that have a name, each derived from the one before it (Table component-ablation)."""

from collections.abc import Callable
from functools import partial

from marecg.config import (
    ArConfig,
    Config,
    GsclConfig,
    JepaConfig,
    ModelConfig,
    MpctConfig,
    MspsConfig,
    RegulariserConfig,
    TrainConfig,
    ViewConfig,
)
from marecg.errors import ConfigError


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
        ar=ArConfig(mask_ratio=0.3, **narrow),
        jepa=full.jepa and full.jepa.model_copy(update=narrow),
        gscl=full.gscl and full.gscl.model_copy(update={"weight": 2.0, "node_width": 32}),
        train=TrainConfig(batch_size=16, accumulate=1, lr=2e-3, final_lr=1e-5, checkpoint_every=50),
    )


RECIPES: dict[str, Callable[[], Config]] = {
    "c1": c1,
    "c1-gscl": c1_gscl,
    "c2p": c2p,
    "c2": c2,
    "c3": c3,
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
