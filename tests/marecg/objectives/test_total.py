"""eq. total-loss, to the letter, on losses that are plain numbers."""

import math

import pytest
import torch

import ecg_ontology
from marecg import recipes
from marecg.errors import ConfigError
from marecg.model.mar_ecg import MarEcg
from marecg.objectives import Objective, ObjectiveConfig, Parts
from marecg.objectives.ar import ArConfig
from marecg.objectives.gscl import GsclConfig
from marecg.objectives.objective import ramp, weighed
from marecg.recipes import Config
from marecg.recipes.overrides import override

NAMED = {
    name: torch.tensor(value)
    for name, value in {
        "recon": 2.0, "mask": 3.0, "jepa": 5.0, "view": 7.0, "gscl": 11.0, "ica": 13.0, "bca": 17.0,
        "opa": 19.0, "alt": 23.0, "rate": 29.0, "mrr": 31.0, "cv": 37.0, "seq": 41.0, "phase": 43.0,
    }.items()
}  # fmt: skip
AR = 2 + 3
JEPA, VIEW, GSCL = 0.15 * 5, 0.1 * 7, 0.5 * 11
MPCT = 0.3 * (0.3 * 13 + 0.3 * 17 + 0.2 * 19)
MSPS = 0.20 * (1.0 * 23 + 1.0 * 29 + 0.5 * 31 + 0.5 * 37) + 0.10 * (41 + 43)
ONTOLOGY = ecg_ontology.load()


def build(settings: ObjectiveConfig) -> Objective:
    small = override(recipes.c3(), ["model.width=12", "model.depth=1"]).model
    return settings.build(Parts(small, MarEcg(small), ONTOLOGY))


def total_loss(config: Config, epoch: float) -> float:
    return sum(
        weighed(name, build(settings), {loss: NAMED[loss] for loss in settings.captions}, epoch).item()
        for name, settings in config.objectives.items()
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (recipes.c1(), AR),
        (recipes.c1_gscl(), AR + GSCL),
        (recipes.c2p(), AR + JEPA + VIEW + MPCT),
        (recipes.c2(), AR + JEPA + VIEW + MPCT + GSCL),
        (recipes.c3(), AR + JEPA + VIEW + MPCT + GSCL + MSPS),
    ],
    ids=lambda value: value.name if isinstance(value, Config) else "",
)
def test_each_configuration_adds_exactly_its_terms_with_the_papers_coefficients(config, expected):
    assert math.isclose(total_loss(config, epoch=50), expected, rel_tol=1e-6)


def test_msps_rises_linearly_over_five_epochs():
    for epoch, share in ((0, 0), (1, 0.2), (2.5, 0.5), (5, 1), (99, 1)):
        added = total_loss(recipes.c3(), epoch) - total_loss(recipes.c2(), epoch)
        assert math.isclose(added, share * MSPS, rel_tol=1e-5, abs_tol=1e-6)


def test_any_objective_can_be_weighted_and_ramped():
    config = Config(gscl=GsclConfig(weight=2.0, ramp_epochs=10))
    assert math.isclose(total_loss(config, epoch=5), AR + 0.5 * 2 * 11, rel_tol=1e-6)
    assert ramp(0.0, 0.0) == 1.0, "without a ramp the weight is full from the first step"


def test_a_loss_that_was_not_announced_or_that_nobody_weighs_is_an_error():
    ar, named = build(ArConfig()), {"recon": NAMED["recon"], "mask": NAMED["mask"]}
    with pytest.raises(ConfigError, match=r"objective ar: names the losses recon, mask, bonus"):
        weighed("ar", ar, {**named, "bonus": NAMED["cv"]}, epoch=0)
    ar.total = lambda named: named["recon"]
    with pytest.raises(ConfigError, match=r"objective ar: never weighs its loss mask"):
        weighed("ar", ar, named, epoch=0)
