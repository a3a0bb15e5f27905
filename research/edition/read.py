"""Probe encoders on some of PTB-XL's folds 1 to 8, and store the logits of the test records.

    python -m research.edition.read FOLDS PTBXL FEATURES OUT ENCODER…

FOLDS are those that train, select and test, such as 1-3,4,5-6. The other arguments are those of
`research.length.read`, whose rows `full`, `beats` and `zero-shot` are read.
"""

import logging
import sys
from pathlib import Path

import numpy as np
import torch
from research.concepts.rows import TASKS
from research.length.read import ROWS, logits

from marecg.evaluate.scores.summary import BEATS, FULL, ZERO_SHOT
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Folds

TITLES = {title: ROWS[title] for title in (FULL, BEATS, ZERO_SHOT)}


def main(folds: str, root: str, features: str, out: str, *encoders: str) -> None:
    """Write the logits of each encoder's rows as float16, standardised by class."""
    torch.set_num_threads(1)
    tasks = [task_named(name).open(Path(root), folds=Folds.of(folds)) for name in TASKS]
    for name in encoders:
        path = Path(out) / f"{Path(name).name}.npz"
        if not path.exists():
            kept = logits(name, tasks, Path(features), TITLES, prototypes=False)
            np.savez_compressed(path, **kept)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
