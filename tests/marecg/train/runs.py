"""Runs as tests begin, kill and compare them, and a corpus as they change it."""

import csv
import shutil
from pathlib import Path
from typing import Any

from marecg.corpus import index

SMALL = [
    "model.width=16",
    "model.depth=1",
    "model.heads=2",
    "train.batch_size=3",
    "train.max_steps=4",
    "train.checkpoint_every=2",
]

KILLED = """
import os, signal, sys
from marecg.train.callbacks import Metrics
from marecg.recipes import Config
from marecg.train.run import train

written = Metrics.after_step

def dies_after_writing(self, trainer, module, batch):
    written(self, trainer, module, batch)
    if trainer.global_step == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)

Metrics.after_step = dies_after_writing
train(Config.model_validate_json(sys.argv[1]), sys.argv[2], sys.argv[3])
"""


def rows(run: Path) -> list[dict[str, str]]:
    with (run / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def relabelled(corpus_folder: Path, data: Path, **change: Any) -> Path:
    """A copy of the corpus with every row of its index changed."""
    shutil.copytree(corpus_folder, data)
    rows = [row | change for row in index.read(data / "index.parquet").to_pylist()]
    index.write(index.table(rows), data / "index.parquet")
    return data


def files(run: Path) -> dict[str, bytes]:
    """What must not depend on how often a run was stopped."""
    return {name: (run / name).read_bytes() for name in ("metrics.csv", "model/model.safetensors")}
