"""A recipe's network and one pass of it, and runs as tests begin, kill and compare them."""

import csv
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import torch
from tests import forked

import ecg_ontology
from marecg.corpus import index
from marecg.corpus.prepared import read_about
from marecg.model.batch import Batch
from marecg.objectives.objective import Part
from marecg.objectives.views import Views
from marecg.recipes import Config, by_name
from marecg.recipes.overrides import override
from marecg.train.callbacks import Metrics
from marecg.train.network import Network, Outcome
from marecg.train.run import train


def killed(run: Path, step: int, begin: Callable[[Path], object]) -> int:
    """Train in a process that is killed once a step's row and a checkpoint due are written; how it ended."""

    def work() -> None:
        written = Metrics.after_step

        def dies_after_writing(self: Metrics, trainer: Any, *given: Any) -> None:
            written(self, trainer, *given)
            if trainer.global_step == step:
                while step > 2 and not any((run / "checkpoints").glob("step-*")):  # one is due every 2 steps
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)

        Metrics.after_step = dies_after_writing
        begin(run)

    return forked.run(work)


def rows(run: Path, table: str = "metrics.csv") -> list[dict[str, str]]:
    with (run / table).open(newline="") as file:
        return list(csv.DictReader(file))


def relabelled(corpus_folder: Path, data: Path, **change: Any) -> Path:
    """A copy of the corpus with every row of its index changed."""
    shutil.copytree(corpus_folder, data)
    rows = [row | change for row in index.of(data).to_pylist()]
    index.complete(data, read_about(data), index.table(rows))
    return data


def files(run: Path) -> dict[str, bytes]:
    """What must not depend on how often a run was stopped."""
    names = ("metrics.csv", "monitors.csv", "model/model.safetensors")
    return {name: (run / name).read_bytes() for name in names}


ONTOLOGY = ecg_ontology.load()
SMALLER = ["model.width=16", "model.depth=1", "model.heads=2"]
SMALL = [
    *SMALLER,
    "train.batch_size=3",
    "train.global_batch_size=3",
    "train.max_steps=4",
    "train.checkpoint_every=2",
]


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


def assert_reaches_what_it_says(net: Network, batch: Batch) -> None:
    """Its objectives read the parts of the model in their `reaches`, and no other part."""
    parts = get_args(Part)
    for part in parts:
        getattr(net.model, part).requires_grad_(True)
    net.zero_grad()
    run(net, batch).loss.backward()
    read = {part for part in parts if any(p.grad is not None for p in getattr(net.model, part).parameters())}
    assert read == {part for objective in net.objectives.values() for part in objective.reaches}


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


def assert_resumes(recipe: str, corpus: Path, run: Path) -> None:
    """A run that lost its last checkpoint and its model ends in the same bytes."""
    config = override(
        by_name(recipe),
        [*SMALL, "train.batch_size=4", "train.global_batch_size=4", "train.precision=32-true"],
    )
    train(config, corpus, run)
    before = files(run)
    (run / "checkpoints" / "step-00000004.ckpt").unlink()
    (run / "model" / "model.safetensors").unlink()
    train(config, corpus, run, resume=True)
    assert files(run) == before
