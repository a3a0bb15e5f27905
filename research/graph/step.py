"""Read the trainings of the paper's step by a linear probe of h_rhythm.

`python -m research.graph.step PTBXL RUNS FEATURES` reads every finished run `RUNS/ARM-UNIT` and adds the AUC
of each class to units.csv. FEATURES keeps computed features. Folds 5 to 8 are tested in two rotations, as
`marecg probe --set folds=1-5,6,7-8` and `--set folds=7-8+1-3,4,5-6` do it.

Shapes: M test records, K classes, R rotations.
"""

import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from research.concepts.rows import TASKS, trials

from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder
from marecg.evaluate.methods.method import FeatureTable, Method
from marecg.evaluate.scores.metrics import RELIABLE_COUNT, class_auc
from marecg.evaluate.scores.summary import ENCODER
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TEST, Folds, Task
from marecg.model.mar_ecg import MarEcg

ROTATIONS = ("1-5,6,7-8", "7-8+1-3,4,5-6")
ARMS = ("c2p", "real", "edgeless", "paper")
SHARES = (0.01, 0.1, 1.0)
COLUMNS = ["unit", "arm", "task", "share", "draw", "class", "auc"]
SCORES = Path(__file__).parent / "units.csv"

CHECKED = 50
"""Number of steps at each end of a training over which the loss of GSCL is compared."""

logger = logging.getLogger(__name__)


def main(root: str, runs: str, features: str) -> None:
    """Add the AUC of each class, by unit, arm, task and share of the labels, to units.csv."""
    torch.set_num_threads(1)
    tasks = {
        name: [task_named(name).open(Path(root), folds=Folds.of(text)) for text in ROTATIONS]
        for name in TASKS
    }
    kept = pd.read_csv(SCORES) if SCORES.exists() else pd.DataFrame(columns=COLUMNS)
    known = set(zip(kept["arm"], kept["unit"], strict=True))
    found = [folder.parent for arm in ARMS for folder in sorted(Path(runs).glob(f"{arm}-*/model"))]
    new = [run for run in found if (run.name.split("-")[0], int(run.name.split("-")[1])) not in known]
    methods = [h_rhythm(run.name, MarEcg.from_pretrained(run)) for run in new]
    tables = extract(tasks[TASKS[0]][0].viewed, methods, Path(features))  # all tasks have the same recordings
    for method in methods:
        arm, unit = method.name.split("-")
        rows = [
            (int(unit), arm, name.removeprefix("ptbxl-"), *scored)
            for name, rotations in tasks.items()
            for scored in class_scores(tables[method.name], rotations)
        ]
        kept = pd.DataFrame([*kept.itertuples(index=False), *rows], columns=COLUMNS)
        kept.to_csv(SCORES, index=False, float_format="%.5g")
        losses = pd.read_csv(Path(runs) / method.name / "metrics.csv")
        if "gscl" in losses:
            first, last = losses["gscl"].iloc[:CHECKED].mean(), losses["gscl"].iloc[-CHECKED:].mean()
            logger.info("%s: loss of GSCL %.3f, then %.3f", method.name, first, last)


def class_scores(table: FeatureTable, rotations: list[Task]) -> Iterator[tuple[float, int, str, float]]:
    """Yield the share, the draw, the class and its AUC for each class with enough test positives."""
    parts = [task.part(TEST) for task in rotations]
    enough_K = sum(part.y_MK.sum(0, dtype=np.int64) for part in parts) >= RELIABLE_COUNT
    for drawn in zip(*(trials(table, task, SHARES) for task in rotations), strict=True):
        auc_K = pooled_auc(
            [
                (part.y_MK[:, enough_K], trial.logits_MK[:, enough_K])
                for part, trial in zip(parts, drawn, strict=True)
            ]
        )
        for label, auc in zip(np.array(rotations[0].classes)[enough_K].tolist(), auc_K, strict=True):
            yield drawn[0].fraction, drawn[0].seed, label, float(auc)


def h_rhythm(name: str, model: MarEcg) -> Method:
    """Return the record embedding of an encoder, read from one beginning of each window, as a method."""
    model.config = model.config.model_copy(update={"phases": 1})
    method = encoder(model, "rhythm")
    return replace(method, name=name, rows={name: method.rows[ENCODER]})


def pooled_auc(
    rotations: list[tuple[NDArray[np.uint8], NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """Return the AUC of each class over all pairs of a positive and a negative of the same rotation.

    Args:
        rotations: labels [M, K] and logits [M, K] of each rotation. Logits of two rotations come from two
            classifiers, so they aren't compared.
    """
    pairs_RK = np.stack(
        [y_MK.sum(0, dtype=np.int64) * (1 - y_MK.astype(np.int64)).sum(0) for y_MK, _ in rotations]
    )
    auc_RK = np.stack([class_auc(y_MK, logits_MK) for y_MK, logits_MK in rotations])
    return np.asarray((np.nan_to_num(auc_RK) * pairs_RK).sum(0) / pairs_RK.sum(0))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
