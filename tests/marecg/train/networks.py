"""The network of a recipe at a small size, and one pass of it."""

from collections.abc import Callable
from typing import Any

import torch

import ecg_ontology
from marecg.ecg.batch import Batch
from marecg.objectives.views import Views
from marecg.recipes import Config, by_name
from marecg.recipes.overrides import override
from marecg.train.network import Network, Outcome

ONTOLOGY = ecg_ontology.load()
SMALLER = ["model.width=16", "model.depth=1", "model.heads=2"]


def small(name: str) -> Config:
    return override(by_name(name), SMALLER)


def network(recipe: str | Config) -> Network:
    torch.manual_seed(0)
    return Network(small(recipe) if isinstance(recipe, str) else recipe, ONTOLOGY)


def run(net: Network, batch: Batch, seed: int = 0) -> Outcome:
    return net(batch, torch.Generator().manual_seed(seed), lambda z: z, epoch=50)


def looked(name: str, batch: Batch) -> tuple[Any, Views]:
    """A method's objective at a small size, and what it saw of a batch."""
    net = network(f"tiny-{name}")
    views = run(net, batch).views
    return net.objectives[name], views


def idle(net: Network) -> list[str]:
    """Its parameters that take a gradient and got none."""
    return [name for name, each in net.named_parameters() if each.requires_grad and each.grad is None]


def moved(net: Network, slow: torch.nn.Module, step: Callable[[], object]) -> list[float]:
    """How far each weight of a slow network moves in a step before which the others have moved by 1."""
    before = [parameter.clone() for parameter in slow.parameters()]
    slow_ones = {id(parameter) for parameter in slow.parameters()}
    with torch.no_grad():
        for parameter in net.parameters():
            if id(parameter) not in slow_ones:
                parameter.add_(1.0)
    step()
    return [float((now - then).mean()) for now, then in zip(slow.parameters(), before, strict=True)]
