"""The network of a recipe at a small size, and one pass of it."""

import torch

import ecg_ontology
from marecg.ecg.batch import Batch
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
    outcome = net(batch, torch.Generator().manual_seed(seed), lambda z: z, epoch=50)
    assert isinstance(outcome, Outcome)
    return outcome
