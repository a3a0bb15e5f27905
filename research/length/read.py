"""Probe encoders on PTB-XL's folds 7 and 8, and store the logits of the test records.

    python -m research.length.read PTBXL FEATURES OUT ENCODER…

ENCODER is a run folder, `random-SEED` for an untrained encoder, or `minirocket`. FEATURES is a folder that
keeps computed features. The command writes OUT/ENCODER.npz. Records, draws and classifiers are the same as in
`marecg probe --set readout=full --set folds=1-5,6,7-8`.

Shapes: M test records, K classes.
"""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from research.concepts.rows import TASKS, standardised, trials

from marecg.base.progress import shown
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder, random_encoder
from marecg.evaluate.methods.method import FeatureTable, Row
from marecg.evaluate.scores.summary import BEATS, CONCEPTS, FULL, ZERO_SHOT
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TEST, Folds, Task
from marecg.model.mar_ecg import MarEcg
from marecg_research.minirocket import minirocket

FOLDS = "1-5,6,7-8"
SHARES = (0.01, 0.1, 1.0)
ROWS = {FULL: "full", CONCEPTS: "concepts", BEATS: "beats", ZERO_SHOT: "zero-shot"}

logger = logging.getLogger(__name__)


def main(root: str, features: str, out: str, *encoders: str) -> None:
    """Write the logits of each encoder's rows as float16, standardised by class."""
    torch.set_num_threads(1)
    tasks = [task_named(name).open(Path(root), folds=Folds.of(FOLDS)) for name in TASKS]
    for name in encoders:
        path = Path(out) / f"{Path(name).name}.npz"
        if not path.exists():
            np.savez_compressed(path, **logits(name, tasks, Path(features), ROWS))


def logits(
    name: str, tasks: Sequence[Task], features: Path, titles: Mapping[str, str], *, prototypes: bool = True
) -> dict[str, Any]:
    """Return the logits of an encoder's rows and what is needed to score them, by task, row, share and draw.

    Args:
        name: encoder, as in the command.
        tasks: tasks with their folds.
        features: folder that keeps computed features.
        titles: names of the rows in the result, by their titles in a report.
        prototypes: whether to read the rows also with concept scores from the prototypes alone.
    """
    kept: dict[str, Any] = {}
    for task in tasks:
        kept |= labels_of(task)
        for row, table in tables(name, task, features, titles, prototypes=prototypes):
            for trial in trials(table, task, SHARES):
                key = f"{task.name}/{row}/{trial.fraction:g}/{trial.seed}"
                kept[key] = standardised(trial.logits_MK).astype(np.float16)
        logger.info("%s, %s", name, task.name)
    return kept


def labels_of(task: Task) -> dict[str, Any]:
    """Return the classes, labels and names of a task's test records, as they are stored with logits."""
    part = task.part(TEST)
    return {
        f"{task.name}/classes": np.array(task.classes),
        f"{task.name}/y": np.packbits(part.y_MK, axis=1),
        f"{task.name}/records": np.array([task.recordings.ids[row] for row in part.row_M]),
    }


def tables(
    name: str, task: Task, features: Path, titles: Mapping[str, str], *, prototypes: bool
) -> Iterator[tuple[str, FeatureTable]]:
    """Yield the name and features of each row of an encoder.

    A name that ends in `, prototypes` means that concept scores come from the prototypes alone.
    """
    if name == "minirocket":
        method = minirocket(task)
        table = extract(task.viewed, (method,), features, shown)[method.name]
        yield "minirocket", FeatureTable(table.x_RF, {}, Row(choose=method.choose))
        return
    seed = name.removeprefix("random-")
    if seed == name:
        model = MarEcg.from_pretrained(name)
    else:
        model = random_encoder(MarEcg.from_pretrained("marecg-small").config, int(seed))
    x_RF = extract(task.viewed, (encoder(model, "full"),), features, shown)[FULL].x_RF
    yield from _rows(model, x_RF, titles, "")
    if prototypes and model.concept_scores is not None:
        model.concept_scores = None
        yield from _rows(model, x_RF, titles, ", prototypes")


def _rows(
    model: MarEcg, x_RF: NDArray[np.float32], titles: Mapping[str, str], suffix: str
) -> Iterator[tuple[str, FeatureTable]]:
    """Yield a model's rows of the full readout; without prototypes there are only `full` and `beats`."""
    rows: Mapping[str, Row] = encoder(model, "full").rows
    if model.prototypes.any():
        rows = {**encoder(model, "concepts").rows, FULL: rows[FULL]}
    for title, row in titles.items():
        if title in rows and not (suffix and title == BEATS):
            yield row + suffix, FeatureTable(x_RF[:, rows[title].columns], {}, rows[title])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
