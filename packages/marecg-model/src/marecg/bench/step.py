"""What the objectives cost: a step of C2 and of C3 beside one of C1, at full width."""

from dataclasses import replace
from functools import partial

import torch

import ecg_ontology
from marecg.bench.batches import noise_batch
from marecg.bench.ratio import Action, Effort, Reach, Row, costs
from marecg.overrides import override
from marecg.recipes import by_name
from marecg.train.network import Network

RECORDS = 2
"""The fewest of which a view contrast has a negative."""
REPEATS = 3
"""A step takes seconds."""
LIMIT = "7 passes over 3: 2.33"


def beside_c1(recipe: str, effort: Effort) -> list[float]:
    """Seconds of a recipe's step over those of C1's."""
    fewer = replace(effort, repeats=REPEATS)
    return costs(_step(recipe, effort.depth), _step("c1", effort.depth), fewer)


def _step(recipe: str, depth: int) -> Action:
    config = override(by_name(recipe), [f"model.depth={depth}"])
    ontology = ecg_ontology.load()
    batch = noise_batch(RECORDS, ontology, config)
    network = Network(config, ontology)

    def step() -> None:
        outcome = network(batch, torch.Generator().manual_seed(0), lambda z_BK: z_BK, epoch=50)
        outcome.loss.backward()
        network.zero_grad()

    return step


ROWS = (
    Row("c2-step", "C2 step", "C1 step", Reach("≤", 2.5), LIMIT, partial(beside_c1, "c2")),
    Row("c3-step", "C3 step", "C1 step", Reach("≤", 2.5), LIMIT, partial(beside_c1, "c3")),
)
