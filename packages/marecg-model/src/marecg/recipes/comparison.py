"""Recipes of other methods, and controls: our encoder, records and epochs, and something else to learn.

docs/comparison.md says what each takes over from its paper and where it differs.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from marecg.base.config import CleanConfig, MaskingConfig, SamplingConfig
from marecg.objectives.comparators.labels import LabelsConfig
from marecg.objectives.objective import NarrowConfig
from marecg.objectives.registry import COMPARATORS
from marecg.recipes.schema import Config

BATCH = 64
"""Records per step of every method that contrasts records or reads the batch's statistics."""
MASKED = 0.75
"""Share of the pairs that MAE and ST-MEM hide, as both papers find best."""
HEADS = {
    "hidden": 128,
    "outputs": 64,
    "prototypes": 256,
    "width": 32,
    "depth": 1,
    "heads": 2,
    "momentum": 0.99,
}
"""Values of a small method's heads; its slow network follows sooner, because its run is short."""
BOTTLENECKS = {"simsiam": 4, "astcl": 4}
"""How much narrower a predictor is than the projection, at every size."""
METHODS = tuple(name for name in COMPARATORS if name != "labels")
"""Those of others; `labels` is a control."""

Recipe = Callable[[], Config]


class Size(Protocol):
    """`tiny` or `small`: a recipe at another size, under a name."""

    def __call__(self, recipe: Recipe, name: str) -> Config:
        """The recipe at that size."""


def comparison(c1: Recipe, c1_gscl: Recipe, tiny: Size, small: Size) -> dict[str, Recipe]:
    """Every method and control by its name, at the size of C1 and as `small-…` and `tiny-…`."""
    controls: dict[str, Recipe] = {
        "labels": partial(_labels, c1),
        "sigma0": partial(_sigma0, c1_gscl),
        "random": partial(_random, c1_gscl),
        "supervised": partial(_supervised, c1),
    }
    recipes: dict[str, Recipe] = {name: partial(_method, c1, name) for name in METHODS}
    recipes |= {name if name == "supervised" else f"c1-{name}": make for name, make in controls.items()}
    for prefix, size in (("small", small), ("tiny", tiny)):
        recipes |= {f"{prefix}-{name}": partial(_sized, c1, name, size, prefix) for name in METHODS}
    recipes["small-labels"] = partial(small, controls["labels"], "small-labels")
    return recipes | {
        f"tiny-{name}": partial(_tiny, make, tiny, f"tiny-{name}") for name, make in controls.items()
    }


def _method(c1: Recipe, name: str) -> Config:
    """One method alone."""
    settings = COMPARATORS[name]()
    alone = {"name": name, "ar": None, name: settings}
    if isinstance(settings, NarrowConfig):
        return c1().derived(**alone, masking=MaskingConfig(ratio=MASKED))
    return c1().derived(**alone, train=c1().train.model_copy(update={"batch_size": BATCH, "accumulate": 1}))


def _sized(c1: Recipe, name: str, size: Size, prefix: str) -> Config:
    """A method at another size, with heads to match and as many records per step as it needs."""
    full = _method(c1, name)
    config = size(lambda: full, f"{prefix}-{name}")
    settings = full.objectives[name]
    narrow = {key: value for key, value in HEADS.items() if key in type(settings).model_fields}
    if name in BOTTLENECKS:
        narrow["hidden"] = HEADS["outputs"] // BOTTLENECKS[name]
    batch = max(config.train.batch_size, full.train.batch_size)
    return config.derived(
        masking=full.masking,
        train=config.train.model_copy(update={"batch_size": batch}),
        **{name: settings.model_copy(update=narrow)},
    )


def _labels(c1: Recipe) -> Config:
    """C1 with the codes as independent labels where C1 with GSCL has the graph."""
    return c1().derived(name="c1-labels", labels=LabelsConfig())


def _sigma0(c1_gscl: Recipe) -> Config:
    """C1 with GSCL whose targets don't reach over the graph: the active leaves alone."""
    config = c1_gscl()
    assert config.gscl is not None
    return config.derived(name="c1-sigma0", gscl=config.gscl.model_copy(update={"sigma": 0.01}))


def _random(c1_gscl: Recipe) -> Config:
    """C1 with GSCL on codes that have changed places between records: no code fits its signal."""
    return c1_gscl().derived(name="c1-random", sampling=SamplingConfig(codes_permuted=0))


def _supervised(c1: Recipe) -> Config:
    """Nothing but the codes as independent labels, on augmented, unmasked records."""
    return c1().derived(
        name="supervised",
        ar=None,
        labels=LabelsConfig(weight=1.0),
        clean=CleanConfig(supervised=True, augmentation="rhythm-safe"),
    )


def _tiny(control: Recipe, tiny: Size, name: str) -> Config:
    """A control at the size of `tiny`, where what stands in GSCL's place weighs as GSCL does there."""
    full, config = control(), tiny(control, name)
    labels = full.objectives.get("labels")
    if labels is not None and full.ar is not None:
        return config.derived(labels=labels.model_copy(update={"weight": 2.0}))
    return config
