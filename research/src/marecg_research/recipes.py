"""Recipes of other methods and of controls, on our encoder, records and epochs.

research/comparators/comparison.md says what each takes over from its paper and where it differs.
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
"""Records per step of every method that contrasts records or reads the batch's statistics."""
HEADS = {
    **{"hidden": 128, "outputs": 64, "prototypes": 256},
    **{"width": 32, "depth": 1, "heads": 2, "momentum": 0.99},
}
"""Values of a small method's heads; its slow network follows sooner, because its run is short."""
METHODS = tuple(name for name in COMPARATORS if name != "labels")
"""Those of others; `labels` is a control."""


def labels() -> Config:
    """Return C1 with independent labels in place of GSCL."""
    return c1().derived(name="c1-labels", labels=LabelsConfig())


def sigma0() -> Config:
    """Return C1 with GSCL on targets of active leaves alone, without reach over the graph."""
    config = c1_gscl()
    return config.derived(name="c1-sigma0", gscl=changed(config.gscl, sigma=0.01))


def random() -> Config:
    """Return C1 with GSCL on permuted codes, so that records have other records' codes."""
    return c1_gscl().derived(name="c1-random", sampling=SamplingConfig(codes_permuted=0))


def supervised() -> Config:
    """Return a recipe with codes as independent labels alone, on augmented, unmasked records."""
    return c1().derived(
        name="supervised",
        ar=None,
        labels=LabelsConfig(weight=1.0),
        clean=CleanConfig(supervised=True, augmentation="rhythm-safe"),
    )


def method(name: str) -> Config:
    """Return a recipe of one method alone; MAE and ST-MEM mask three quarters, as in their papers."""
    settings = COMPARATORS[name]()
    alone = {"name": name, "ar": None, name: settings}
    if isinstance(settings, NarrowConfig):
        return c1().derived(**alone, masking=MaskingConfig(ratio=0.75))
    batches = {"batch_size": STEP_RECORDS, "global_batch_size": STEP_RECORDS}
    return c1().derived(**alone, train=c1().train.model_copy(update=batches))


def _sized(size: Callable[[Callable[[], Config], str], Config], name: str) -> Config:
    """A method at another size, with heads to match and as many records per step as it needs."""
    full = method(name)
    config = size(lambda: full, f"{size.__name__}-{name}")
    settings = full.objectives[name]
    narrow = {key: value for key, value in HEADS.items() if key in type(settings).model_fields}
    if name in ("simsiam", "astcl"):  # whose predictors are a quarter of the projection, at every size
        narrow["hidden"] = HEADS["outputs"] // 4
    records = max(config.train.batch_size, full.train.batch_size)
    return config.derived(
        masking=full.masking,
        train=config.train.model_copy(update={"batch_size": records, "global_batch_size": records}),
        **{name: settings.model_copy(update=narrow)},
    )


def _tiny(control: Callable[[], Config], name: str) -> Config:
    """A control at the size of `tiny`, where what stands in GSCL's place weighs as GSCL does there."""
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
"""Every method and control by its name, at the size of C1 and as `small-…` and `tiny-…`."""
