"""Named recipes: the recipes of the MAR-ECG paper (Table component-ablation), and smaller recipes."""

from collections.abc import Callable
from typing import Any, TypeVar

from marecg.corpus.config import SamplingConfig
from marecg.model.config import ModelConfig
from marecg.objectives.gscl import GsclConfig
from marecg.objectives.jepa import JepaConfig
from marecg.objectives.mpct import MpctConfig
from marecg.objectives.msps import MspsConfig
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.view import ViewConfig
from marecg.objectives.views import CleanConfig, MaskingConfig, RegulariserConfig
from marecg.recipes.schema import Config, TrainConfig

T = TypeVar("T", bound=ObjectiveConfig)
AS_USED: dict[str, Any] = {"tau": 0.2, "amplitude": True, "phases": 3, "modulation": True}
"""Model settings of `small` and `base` that differ from the paper; see `_below_paper_size`."""


def c1() -> Config:
    """Return C1: masked autoregressive reconstruction as the only objective."""
    return Config(name="c1")


def c1_gscl() -> Config:
    """Return C1 with graph-smoothed contrastive learning (GSCL)."""
    return c1().derived(name="c1-gscl", gscl=GsclConfig())


def c2p() -> Config:
    """Return C2′: C1 with latent prediction, view contrast, regularisation and concept-text alignment."""
    return c1().derived(
        name="c2p", jepa=JepaConfig(), view=ViewConfig(), regulariser=RegulariserConfig(), mpct=MpctConfig()
    )


def c2() -> Config:
    """Return C2: C2′ with graph-smoothed contrastive learning."""
    return c2p().derived(name="c2", gscl=GsclConfig())


def c3() -> Config:
    """Return C3: C2 with multi-scale physiological supervision, and augmentations that don't move beats."""
    return c2().derived(name="c3", view=ViewConfig(augmentation="rhythm-safe"), msps=MspsConfig())


def tiny(recipe: Callable[[], Config] = c1_gscl, name: str = "tiny") -> Config:
    """Return a recipe, by default C1 with GSCL, at a size that two CPU cores train in minutes.

    Patches have 200 ms and don't overlap, so the encoder's context has 35 patches instead of 139. In such a
    short run, graph-smoothed contrastive learning (GSCL) teaches the model more than reconstruction. The mask
    is therefore smaller than in the paper, and the weight of GSCL is larger.
    """
    full = recipe()
    narrow = {"width": 32, "depth": 1, "heads": 2}
    return full.derived(
        name=name,
        model=ModelConfig(patch=100, stride=100, width=64, depth=2, heads=4, mlp_ratio=2, concept_width=32),
        masking=MaskingConfig(ratio=0.3),
        ar=changed(full.ar, **narrow),
        jepa=changed(full.jepa, **narrow),
        gscl=changed(full.gscl, weight=2.0, node_width=32),
        train=TrainConfig(batch_size=16, global_batch_size=16, lr=2e-3, final_lr=1e-5, checkpoint_every=50),
    )


def small(recipe: Callable[[], Config] = c3, name: str = "small") -> Config:
    """Return a recipe, by default C3, at a size that a single CPU core trains in an hour or two."""
    model = ModelConfig(
        patch=100, stride=100, width=96, depth=2, heads=3, mlp_ratio=2, concept_width=64, **AS_USED
    )
    train = TrainConfig(
        max_epochs=7,
        warmup_epochs=0.7,
        batch_size=32,
        global_batch_size=32,
        lr=2e-3,
        final_lr=2e-5,
        average=0.998,
        checkpoint_every=100,
    )
    return _below_paper_size(recipe(), name, model, train, {"width": 64, "depth": 1, "heads": 2})


def small_graph() -> Config:
    """Return C1 with GSCL at the size of `small`, with targets that don't depend on distances in the graph.

    The target of a record is uniform over its leaf concepts. A second target is uniform over its families,
    which are root concepts with all concepts below them.
    """
    config = small(c1_gscl, "small-graph")
    hierarchical = {"sigma": 0.01, "a_hat": "identity", "families": 0.5}
    return config.derived(gscl=changed(config.gscl, **hierarchical))


def base() -> Config:
    """Return C3 at a size for a single GPU, with patches of 100 ms without overlap."""
    model = ModelConfig(stride=50, width=384, depth=6, heads=6, concept_width=128, **AS_USED)
    train = TrainConfig(
        max_epochs=60,
        warmup_epochs=3,
        batch_size=64,
        global_batch_size=64,
        lr=5e-4,
        final_lr=5e-6,
        average=0.999,
    )
    return _below_paper_size(c3(), "base", model, train, {"width": 192, "depth": 2, "heads": 3})


def _below_paper_size(
    full: Config, name: str, model: ModelConfig, train: TrainConfig, narrow: dict[str, int]
) -> Config:
    """Return a recipe with the changes that help models below the paper's size.

    - Losses with labels use an unmasked record, as in inference. It is augmented and cropped at random.
    - Tokens contain the amplitude of their lead.
    - Masks cover blocks of patches and leads.
    - Records with rare leaves are drawn more often.
    - The exported weights are an average over steps. The exported model reads each window at three offsets.
      Its wide readout, a vector of features per record, includes the modulation spectrum of the beats.

    For the measured effects, see research/small/summary.md.
    """
    return full.derived(
        name=name,
        model=model,
        sampling=SamplingConfig(balance=0.5),
        masking=MaskingConfig(block_patches=400 // model.stride, block_leads=3, hidden_leads=True),
        clean=CleanConfig(supervised=True, augmentation="rhythm-safe", crop=True),
        regulariser=full.regulariser and RegulariserConfig(p_lead=0.1, p_drop=0.0),
        ar=changed(full.ar, **narrow),
        jepa=changed(full.jepa, **narrow, horizon=0.05),
        view=changed(full.view, weight=0.2, tau=0.1, width=128, augmentation="rhythm-safe"),
        gscl=changed(full.gscl, sigma=0.4, rule="most-specific", node_width=64),
        msps=changed(full.msps, ramp_epochs=1.0, hidden=128, z_score="corpus"),
        train=train,
    )


def changed(objective: T | None, **changes: object) -> T | None:
    """Return the settings of an objective with changes, or None if the objective is None."""
    return objective and objective.model_copy(update=changes)
