"""Runs as tests begin, kill and compare them, and a corpus as they change it."""

import csv
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import forked

from marecg.corpus import index
from marecg.train.callbacks import Metrics

SMALL = ["model.width=16", "model.depth=1", "model.heads=2", "train.batch_size=3", "train.max_steps=4"]
SMALL += ["train.checkpoint_every=2"]


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
    index.write(index.table(rows), data / "index.parquet")
    return data


def files(run: Path) -> dict[str, bytes]:
    """What must not depend on how often a run was stopped."""
    names = ("metrics.csv", "monitors.csv", "model/model.safetensors")
    return {name: (run / name).read_bytes() for name in names}
