"""Score PTB-XL's four tasks without labels, by the prototypes and by the shipped concept scores.

`python -m research.concepts.shipped PTBXL FEATURES OUT RECORDS` writes shipped.npz. PTBXL is a folder with
folds 1–8 only, FEATURES keeps computed features, and the first RECORDS records are read.

Shapes: M records, K classes.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from research.concepts.probe import TASKS

from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder, zero_shot
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Folds
from marecg.model.mar_ecg import MarEcg


def main(root: str, features: str, out: str, records: str) -> None:
    """Write labels and both scores of each task's records."""
    torch.set_num_threads(1)
    model, count = MarEcg.from_pretrained("marecg-small"), int(records)
    shipped = model.concept_scores
    kept: dict[str, NDArray[np.generic]] = {}
    for name in TASKS:
        task = task_named(name).open(Path(root), folds=Folds.of("1-5,6,7-8"))
        first = replace(task.recordings, ids=task.recordings.ids[:count])
        x_RV = extract(first, (encoder(model, "concepts"),), Path(features))["encoder, beats"].x_RF
        task = task.only(task.row_M < count)
        kept |= {f"{name}/classes": np.array(task.classes), f"{name}/y": task.y_MK}
        for scores in ("prototypes", "shipped"):
            model.concept_scores = shipped if scores == "shipped" else None
            score_MK = zero_shot(model, x_RV[task.row_M], task, model.ontology, readout="beats").logits_MK
            kept[f"{name}/{scores}"] = score_MK.astype(np.float32)
    np.savez_compressed(Path(out) / "shipped.npz", **kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
