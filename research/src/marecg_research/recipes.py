"""Define recipes of other methods and of controls, with our encoder, records and epochs.

research/comparators/comparison.md compares each method with its paper. C1 is the paper's recipe that
reconstructs masked patches. GSCL is the objective that learns codes with the graph.
"""

from collections.abc import Callable
from functools import partial

from marecg.corpus.config import SamplingConfig
from marecg.objectives.objective import NarrowConfig
from marecg.objectives.views import CleanConfig, MaskingConfig
from marecg.recipes.named import c1, c1_gscl, changed, small, tiny
from marecg.recipes.schema import Config
from marecg_research.comparators import COMPARATORS
from marecg_research.comparators.labels import LabelsConfig

STEP_RECORDS = 64
"""Records per step of the methods that contrast records or use statistics of the batch."""
HEADS = {
    **{"hidden": 128, "outputs": 64, "prototypes": 256},
    **{"width": 32, "depth": 1, "heads": 2, "momentum": 0.99},
}
"""Settings of a method's heads at the sizes `small` and `tiny`. The momentum is lower than in the papers.

Runs are short, so the slow network must follow the trained network faster.
"""
METHODS = tuple(name for name in COMPARATORS if name != "labels")
"""Names of published methods. `labels` is a control."""


def labels() -> Config:
    """Return C1 with independent labels in place of GSCL."""
    return c1().derived(name="c1-labels", labels=LabelsConfig())


def sigma0() -> Config:
    """Return C1 with GSCL whose σ is so small that a record's target contains only its own leaves."""
    config = c1_gscl()
    return config.derived(name="c1-sigma0", gscl=changed(config.gscl, sigma=0.01))


def random() -> Config:
    """Return C1 with GSCL on permuted codes: each record has the codes of another record."""
    return c1_gscl().derived(name="c1-random", sampling=SamplingConfig(codes_permuted=0))


def supervised() -> Config:
    """Return a recipe that only learns independent labels, on augmented records without masks."""
    return c1().derived(
        name="supervised",
        ar=None,
        labels=LabelsConfig(weight=1.0),
        clean=CleanConfig(supervised=True, augmentation="rhythm-safe"),
    )


def method(name: str) -> Config:
    """Return the recipe of a method. MAE and ST-MEM mask three quarters, as in their papers."""
    settings = COMPARATORS[name]()
    changes = {"name": name, "ar": None, name: settings}
    if isinstance(settings, NarrowConfig):
        return c1().derived(**changes, masking=MaskingConfig(ratio=0.75))
    batches = {"batch_size": STEP_RECORDS, "global_batch_size": STEP_RECORDS}
    return c1().derived(**changes, train=c1().train.model_copy(update=batches))


def _sized(size: Callable[[Callable[[], Config], str], Config], name: str) -> Config:
    """Return the recipe of a method at another size, with smaller heads and enough records per step."""
    full = method(name)
    config = size(lambda: full, f"{size.__name__}-{name}")
    settings = full.objectives[name]
    narrow = {key: value for key, value in HEADS.items() if key in type(settings).model_fields}
    if name in ("simsiam", "astcl"):  # at every size, the predictor is a quarter as wide as the projection
        narrow["hidden"] = HEADS["outputs"] // 4
    records = max(config.train.batch_size, full.train.batch_size)
    return config.derived(
        masking=full.masking,
        train=config.train.model_copy(update={"batch_size": records, "global_batch_size": records}),
        **{name: settings.model_copy(update=narrow)},
    )


def _tiny(control: Callable[[], Config], name: str) -> Config:
    """Return a control at the size of `tiny`. Independent labels have the weight that GSCL has there."""
    full, config = control(), tiny(control, name)
    if "labels" in full.objectives and full.ar is not None:
        return config.derived(labels=changed(full.objectives["labels"], weight=2.0))
    return config


CONTROLS = (labels, sigma0, random, supervised)
COMPARISON: dict[str, Callable[[], Config]] = {
    **{name: partial(method, name) for name in METHODS},
    **{make().name: make for make in CONTROLS},
    **{f"small-{name}": partial(_sized, small, name) for name in METHODS},
    **{f"tiny-{name}": partial(_sized, tiny, name) for name in METHODS},
    "small-labels": partial(small, labels, "small-labels"),
    **{f"tiny-{make.__name__}": partial(_tiny, make, f"tiny-{make.__name__}") for make in CONTROLS},
}
"""Recipes of all methods and controls by name. Prefixes mark other sizes than C1."""
