"""Probe marecg-small by the rows that use concept scores, with and without the ridge regression in them.

    python -m research.concepts.rows PTBXL FEATURES OUT 0.01 0.1

Without the ridge regression, concept scores come from the prototypes only. FEATURES is a folder that keeps
computed features. The numbers are shares of the training records. Records, draws and classifiers are the same
as in `marecg probe marecg-small --set readout=full` with the rotations of research/small/shipped.md. The
command writes OUT/rows.npz.

Shapes: M test records of all rotations, K classes, S draws.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from marecg.base.progress import shown
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder
from marecg.evaluate.methods.method import FeatureTable
from marecg.evaluate.probe.protocol import STRICT
from marecg.evaluate.scores.summary import Trial
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TEST, Folds, Task
from marecg.model.mar_ecg import MarEcg

TASKS = ("ptbxl-super", "ptbxl-sub", "ptbxl-form", "ptbxl-rhythm")
ROTATIONS = ("1-5,6,7-8", "3-7,8,1-2", "5-8+1,2,3-4", "7-8+1-3,4,5-6")
ROWS = {"full": "encoder, full", "concepts": "encoder, beats + concepts", "zero-shot": "zero-shot"}
SCORES = ("former", "shipped")
DRAWS = 2

logger = logging.getLogger(__name__)


def main(root: str, features: str, out: str, *shares: str) -> None:
    """Write the logits of the test records, in units of each class's spread, as float16."""
    torch.set_num_threads(1)
    model = MarEcg.from_pretrained("marecg-small")
    shipped = model.concept_scores
    kept: dict[str, Any] = {}
    for name in TASKS:
        rotations = [task_named(name).open(Path(root), folds=Folds.of(text)) for text in ROTATIONS]
        logits: dict[str, list[NDArray[np.float64]]] = {}
        for task in rotations:
            method = encoder(model, "full")
            whole = extract(task.viewed, (method,), Path(features), shown)[ROWS["full"]]
            for scores in SCORES:
                model.concept_scores = shipped if scores == "shipped" else None
                rows = {
                    **encoder(model, "concepts").rows,
                    ROWS["full"]: encoder(model, "full").rows[ROWS["full"]],
                }
                for row, title in ROWS.items():
                    table = FeatureTable(whole.x_RF[:, rows[title].columns], {}, rows[title])
                    for trial in trials(table, task, [float(share) for share in shares]):
                        key = f"{name}/{scores}/{row}/{trial.fraction:g}"
                        logits.setdefault(f"{key}/{trial.seed}", []).append(trial.logits_MK)
                logger.info("%s, test %s, %s scores", name, task.folds, scores)
        tested = [task.part(TEST) for task in rotations]
        y_MK = np.concatenate([part.y_MK for part in tested])
        kept |= {
            f"{name}/classes": np.array(rotations[0].classes),
            f"{name}/y": np.packbits(y_MK, axis=1),
            f"{name}/rotation": np.repeat(np.arange(len(tested)), [len(part.row_M) for part in tested]),
        }
        for key, parts in logits.items():
            kept[key] = np.concatenate([standardised(part) for part in parts]).astype(np.float16)
    np.savez_compressed(Path(out) / "rows.npz", **kept)


def trials(table: FeatureTable, task: Task, shares: Sequence[float]) -> Iterator[Trial]:
    """Yield the trials of a row: one per share and draw, or a single trial if the row needs no labels."""
    if trial := table.unlearnt(task):
        yield trial
    else:
        learn = STRICT.on_features(table.values(task), table.row.choose)
        yield from STRICT.trials(learn, task, shares, DRAWS)


def standardised(logits_MK: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return standardised logits, so that float16 is exact enough to rank the records of a class."""
    return np.asarray((logits_MK - logits_MK.mean(0)) / (logits_MK.std(0) + 1e-9))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
