"""eq. total-loss, to the letter, on the losses of a batch."""

import math

import pytest
import torch
from tests.marecg.train.runs import network, small

from marecg import recipes
from marecg.model.batch import Batch
from marecg.objectives.gscl import GsclConfig
from marecg.objectives.objective import ramp
from marecg.recipes import Config
from marecg.recipes.overrides import override

AR = {"recon": 1.0, "mask": 1.0}
JEPA, VIEW, GSCL = {"jepa": 0.15}, {"view": 0.1}, {"gscl": 0.5}
MPCT = {"ica": 0.3 * 0.3, "bca": 0.3 * 0.3, "opa": 0.3 * 0.2}
MSPS = {"alt": 0.20, "rate": 0.20, "mrr": 0.20 * 0.5, "cv": 0.20 * 0.5, "seq": 0.10, "phase": 0.10}


def losses_at(config: Config, batch: Batch, epoch: float) -> tuple[float, dict[str, float]]:
    """L, and every unweighted loss, of a recipe's objectives on a tiny model at an epoch."""
    decoders = [part for part in ("ar", "jepa") if getattr(config, part)]
    shape = [f"{part}.{size}" for part in decoders for size in ("width=32", "depth=1", "heads=2")]
    net = network(override(config.derived(model=small("tiny").model), shape))
    outcome = net(batch, torch.Generator().manual_seed(0), lambda z: z, epoch)
    return outcome.loss.item(), {name: value.item() for name, value in outcome.losses.items()}


def assert_adds(config: Config, coefficients: dict[str, float], batch: Batch, epoch: float = 50) -> None:
    total, losses = losses_at(config, batch, epoch)
    assert losses.keys() == coefficients.keys()
    expected = sum(coefficients[name] * value for name, value in losses.items())
    assert math.isclose(total, expected, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("config", "coefficients"),
    [
        (recipes.c1(), AR),
        (recipes.c1_gscl(), AR | GSCL),
        (recipes.c2p(), AR | JEPA | VIEW | MPCT),
        (recipes.c2(), AR | JEPA | VIEW | GSCL | MPCT),
        (recipes.c3(), AR | JEPA | VIEW | GSCL | MPCT | MSPS),
    ],
    ids=lambda value: value.name if isinstance(value, Config) else "",
)
def test_each_configuration_adds_exactly_its_terms_with_the_papers_coefficients(config, coefficients, batch):
    assert_adds(config, coefficients, batch)


@pytest.mark.parametrize(("epoch", "share"), [(0, 0), (2.5, 0.5), (99, 1)])
def test_msps_rises_linearly_over_five_epochs(epoch, share, batch):
    ramped = {name: share * coefficient for name, coefficient in MSPS.items()}
    assert_adds(recipes.c3(), AR | JEPA | VIEW | GSCL | MPCT | ramped, batch, epoch)


def test_any_objective_can_be_weighted_and_ramped(batch):
    config = Config(gscl=GsclConfig(weight=2.0, ramp_epochs=10))
    assert_adds(config, AR | {"gscl": 0.5 * 2}, batch, epoch=5)
    assert ramp(0.0, 0.0) == 1.0, "without a ramp the weight is full from the first step"
