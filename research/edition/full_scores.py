"""Read zero-shot scores and `full` with concept scores from other parts of the full readout.

    python -m research.edition.full_scores FOLDS PTBXL FEATURES OUT CORPUS RUN ROWS TEACHER…

A teacher is the ridge regression of the concept scores. It reads the beat readout (`beats`), all of the full
readout (`full`), or is the mean of a regression for each view of the full readout (`views`). The command
writes OUT/TEACHER.npz with the rows in ROWS: `zero-shot` or `zero-shot,full`.

Shapes: T teaching records, M records, N concepts, V values of the full readout, K classes.
"""

import logging
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from research.concepts.rows import TASKS, standardised, trials
from research.length.read import SHARES, labels_of

from marecg.base.progress import shown
from marecg.corpus.prepared import Corpus
from marecg.evaluate.methods.features import extract
from marecg.evaluate.methods.frozen_encoder import encoder, known_concepts, log_q
from marecg.evaluate.methods.method import FeatureTable, Row
from marecg.evaluate.probe.linear import UNSEEN_LOGIT
from marecg.evaluate.scores.summary import FULL
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import TEST, Folds, Task
from marecg.model.concept_scores import ConceptScores
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import folder_of
from marecg.model.readout import columns_within, views, wide_columns
from marecg.use.answers import marked
from marecg.use.fit_concept_scores import full_readout, mean_of, ridge_of_view, stored, teaching_rows

Floats = NDArray[np.float64]


def main(
    folds: str, root: str, features: str, out: str, data: str, run: str, titles: str, *teachers: str
) -> None:
    """Write the logits of each teacher's rows as float16, standardised by class."""
    torch.set_num_threads(1)
    model, corpus = MarEcg.from_pretrained(run), Corpus.open(Path(data))
    rows = teaching_rows(model, folder_of(run), corpus, ["synth"])
    x_TV, y_TN = full_readout(model, corpus, rows), marked(model.ontology, corpus.y[rows])
    tasks = [task_named(name).open(Path(root), folds=Folds.of(folds)) for name in TASKS]
    for teacher in teachers:
        scores = taught(model, x_TV, y_TN, teacher)
        kept: dict[str, Any] = {}
        for task in tasks:
            kept |= labels_of(task)
            x_RV = extract(task.viewed, (encoder(model, "full"),), Path(features), shown)[FULL].x_RF
            score_MK = class_scores(model, scores, x_RV[task.part(TEST).row_M], task)
            kept[f"{task.name}/zero-shot/0/0"] = standardised(score_MK).astype(np.float16)
            table = FeatureTable(x_RV, {}, row(model, scores))
            for trial in trials(table, task, SHARES if "full" in titles else ()):
                key = f"{task.name}/full/{trial.fraction:g}/{trial.seed}"
                kept[key] = standardised(trial.logits_MK).astype(np.float16)
            logging.info("%s, %s", teacher, task.name)
        np.savez_compressed(Path(out) / f"{teacher}.npz", **kept)


def taught(model: MarEcg, x_TV: NDArray[np.float32], y_TN: NDArray[np.bool_], teacher: str) -> ConceptScores:
    """Fit the concept scores of a teacher. Values that it doesn't read have the weight 0."""
    config = model.config
    of: dict[str, Sequence[slice]] = {
        "beats": [columns_within(config, "beats", "full")],
        "full": [slice(None)],
        "views": views(config, "full"),
    }
    fitted = mean_of([ridge_of_view(config, x_TV, columns, y_TN) for columns in of[teacher]])
    return ConceptScores(
        weights="",
        sources={},
        others=len(x_TV),
        log_q_TN=log_q(model, x_TV[:, wide_columns(config, "full")["rhythm"]]).astype(np.float32),
        taught_N=y_TN.sum(0, dtype=np.int64),
        ridges={"full": stored(fitted)},
    )


def class_scores(model: MarEcg, scores: ConceptScores, x_MV: NDArray[np.float32], task: Task) -> Floats:
    """Return the concept scores of each class, [M, K]."""
    log_q_MN = log_q(model, x_MV[:, wide_columns(model.config, "full")["rhythm"]])
    number = {node.abbr: node.index for node in model.ontology.nodes}
    score_MK = np.full((len(x_MV), len(task.classes)), UNSEEN_LOGIT)
    for k, name in enumerate(task.classes):
        if places := [number[abbr] for abbr in known_concepts(task, name, model.ontology)]:
            families = model.ontology.families
            score_MK[:, k] = scores.of_class(log_q_MN, x_MV, "full", places, places, families)
    return score_MK


def row(model: MarEcg, scores: ConceptScores) -> Row:
    """Return the row `full` with these concept scores."""
    found = encoder(model, "full").rows[FULL]
    return Row(
        found.columns,
        found.weight_F,
        found.choose,
        of_classes=partial(class_scores, model, scores),
        own_weight=found.own_weight,
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
