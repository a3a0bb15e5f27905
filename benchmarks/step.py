"""Measure training steps: C2 and C3 relative to C1 at full width, and `small` relative to matrix products.

Shapes: L tokens, D width, B records, K any width.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.nn.functional import linear

import ecg_ontology
from benchmarks.batches import noise_batch
from benchmarks.ratio import Action, Effort, Reach, Row, alternate, costs, seconds
from ecg_records.signal.leads import LEADS
from marecg.base.memory import keep_freed
from marecg.recipes import Config, by_name
from marecg.recipes.overrides import override
from marecg.train.checkpoints import BackgroundWriter
from marecg.train.network import Network

RECORDS = 2
"""Minimum number of records for which a view contrast has negatives."""
REPEATS = 5
"""Number of timed steps. It is low because a step takes seconds."""
LIMIT = "2.33 (7 passes, not 3)"
SMALL = by_name("small")
TOKENS = SMALL.train.batch_size * SMALL.model.context_patches * len(LEADS)
PRODUCTS = 200
"""Number of matrix products in a turn of the baseline. They take about a third of a step of `small`."""


def beside_c1(recipe: str, effort: Effort) -> list[float]:
    """Return the time of a recipe's step divided by the time of a step of C1."""
    fewer = replace(effort, repeats=REPEATS)
    return costs(_step(recipe, effort.depth), _step("c1", effort.depth), fewer)


def small_rate(effort: Effort) -> list[float]:
    """Return the FLOP rate of a forward and backward pass of `small`, divided by the rate of F.linear."""
    width, batch = SMALL.model.width, SMALL.train.batch_size
    step = _of(SMALL, batch)
    x_LD, weight_DD, bias_D = torch.randn(TOKENS, width), torch.randn(width, width), torch.randn(width)
    turns = alternate(step, lambda: [linear(x_LD, weight_DD, bias_D) for _ in range(PRODUCTS)], effort)
    per_product = 2 * TOKENS * width**2
    return [
        batch * SMALL.step_flops() / turn.ours / (PRODUCTS * per_product / turn.baseline) for turn in turns
    ]


def lost_to_checkpoint(effort: Effort) -> list[float]:
    """Return the time for which a checkpoint stops the training, divided by the time of a step.

    Both times grow with the depth. With more records per step, the ratio would be smaller.
    """
    network = Network(_at_depth("c3", effort.depth), ecg_ontology.load())
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    moments = [(torch.zeros_like(parameter), torch.zeros_like(parameter)) for parameter in learned]
    state, step, ratios = {"state": network.state_dict(), "moments": moments}, _step("c3", effort.depth), []
    with TemporaryDirectory(prefix="marecg-bench-") as folder:
        writing = BackgroundWriter(Path(folder))
        for turn in range(REPEATS + 1):
            target = Path(folder) / "checkpoints" / f"step-{turn}.ckpt"
            held_up = seconds(partial(writing.save_checkpoint, state, target))
            ratios.append(held_up / seconds(step))
            writing.finish()
        writing.teardown()
    return ratios[1:]


def _at_depth(recipe: str, depth: int) -> Config:
    return override(by_name(recipe), [f"model.depth={depth}"])


def _step(recipe: str, depth: int) -> Action:
    return _of(_at_depth(recipe, depth), RECORDS)


def _of(config: Config, records: int) -> Action:
    keep_freed()  # as `marecg train` does
    ontology = ecg_ontology.load()
    batch = noise_batch(records, ontology, config)
    network = Network(config, ontology)

    def step() -> None:
        outcome = network(batch, torch.Generator().manual_seed(0), lambda z_BK: z_BK, epoch=50)
        outcome.loss.backward()
        network.zero_grad()

    return step


ROWS = (
    Row(
        "c2-step",
        "C2, time of a step",
        "C1, time of a step",
        Reach("≤", 2.5),
        LIMIT,
        partial(beside_c1, "c2"),
    ),
    Row(
        "c3-step",
        "C3, time of a step",
        "C1, time of a step",
        Reach("≤", 2.4),
        LIMIT,
        partial(beside_c1, "c3"),
    ),
    Row(
        "small-step",
        "`small`, forward and backward pass, FLOP/s",
        "F.linear at the width of `small`, FLOP/s",
        Reach("≥", 0.45),
        "1",
        small_rate,
    ),
    Row(
        "checkpoint-lost",
        "time for which saving a checkpoint stops the training",
        f"time of a C3 step of {RECORDS} records",
        Reach("≤", 0.01),
        "time of a copy in memory",
        lost_to_checkpoint,
    ),
)
