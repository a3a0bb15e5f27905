"""What `marecg probe` does: run folder and task in, report out.

Shapes: R recordings, M labelled records, K classes, F features.
"""

from pathlib import Path

import numpy as np
import torch

import ecg_ontology
from ecg_ontology.files import replacing
from marecg.errors import InputError, UsageError
from marecg.evaluate.catalogue import open_task
from marecg.evaluate.encoders import encoder, random_encoder, weights_sha256
from marecg.evaluate.features import Features, Watch, extract
from marecg.evaluate.handcrafted import handcrafted
from marecg.evaluate.protocol import strict
from marecg.evaluate.results import Cell, Counts, Report, cells
from marecg.evaluate.tasks import SPLITS, TEST, Task
from marecg.model import MarEcg


def evaluate(
    run: Path,
    task: str,
    root: Path,
    *,
    fractions: tuple[float, ...] = (0.01, 0.1, 1.0),
    seeds: int = 5,
    watch: Watch = iter,
) -> Report:
    """Probe a run's encoder, a random one and the hand-crafted features on one task, by protocol `strict`.

    Features are kept in `run/features`, the report in `run/probe/TASK-strict.json`.

    Args:
        run: a run folder; its `model/` is probed.
        task: a name out of `catalogue.TASKS`.
        root: the task's data.
        fractions: shares of the training part, each in (0, 1].
        seeds: draws per share below 1.
        watch: sees each batch go by while features are computed.

    Raises:
        UsageError: an unknown task, or impossible fractions or seeds.
        CheckpointError: the run's model can't be loaded.
        InputError: the data can't be used.
    """
    _check_request(fractions, seeds)
    asked = open_task(task, root)
    folder = run / "model"
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = MarEcg.from_pretrained(folder).to(device)
    sha256 = weights_sha256(model)
    methods = (
        encoder("encoder", model),
        encoder("random encoder", random_encoder(model.config).to(device)),
        handcrafted(),
    )
    features = extract(asked.recordings, methods, run / "features", watch)
    assert weights_sha256(model) == sha256, "the probe changed the encoder"
    found = next(iter(features.values()))
    report = Report(
        task=asked.name,
        protocol="strict",
        folds=asked.folds,
        window=asked.recordings.window,
        classes=asked.classes,
        records=_counts(asked, found),
        model=str(folder),
        model_sha256=sha256,
        ontology_sha256=ecg_ontology.load(folder / "ontology.json").sha256,
        data_sha256=asked.recordings.sha256,
        task_sha256=asked.sha256,
        cells=tuple(
            cell
            for name, method in features.items()
            for cell in _probe(name, method, asked, tuple(sorted(set(fractions))), seeds)
        ),
    )
    with replacing(run / "probe" / f"{asked.name}-{report.protocol}.json") as temporary:
        temporary.write_text(report.model_dump_json(indent=2), encoding="utf-8")
    return report


def _check_request(fractions: tuple[float, ...], seeds: int) -> None:
    wrong = [fraction for fraction in fractions if not 0 < fraction <= 1]
    if wrong or not fractions:
        raise UsageError(
            f"fraction {wrong}: impossible", remedy="Give shares of the training records such as 0.01 0.1 1"
        )
    if seeds < 1:
        raise UsageError(f"seeds {seeds}: impossible", remedy="Give at least 1")


def _usable(task: Task, features: Features) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([task.recordings.ids[row] not in features.unreadable for row in task.row_M])


def _probe(
    name: str, features: Features, task: Task, fractions: tuple[float, ...], seeds: int
) -> tuple[Cell, ...]:
    usable_M = _usable(task, features)
    x_MF = features.x_RF[task.row_M[usable_M]].astype(np.float64)
    y_MK, split_M = task.y_MK[usable_M], task.split_M[usable_M]
    try:
        trials = list(strict(x_MF, y_MK, split_M, fractions, seeds))
    except InputError as error:
        raise InputError(error.problem, where=task.name, remedy=error.remedy) from error
    return cells(name, x_MF.shape[1], trials, y_MK[split_M == TEST], task.classes)


def _counts(task: Task, features: Features) -> Counts:
    usable_M = _usable(task, features)
    train, val, test = (int((usable_M & (task.split_M == part)).sum()) for part in SPLITS)
    return Counts(
        train=train,
        val=val,
        test=test,
        unlabelled=task.unlabelled,
        missing=task.missing,
        unreadable=features.unreadable,
    )
