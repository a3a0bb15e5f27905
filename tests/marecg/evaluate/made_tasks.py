"""Tasks without signals, and what tests of a report share."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from marecg.evaluate.evaluation import evaluate
from marecg.evaluate.probe.linear import Part
from marecg.evaluate.probe.protocol import Protocol
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import Report
from marecg.evaluate.scores.summary import Trial
from marecg.evaluate.tasks.registry import task_named
from marecg.evaluate.tasks.task import Recordings, Task


def made_task(y_MK: np.ndarray, split_M: np.ndarray) -> Task:
    """A task whose records are numbered."""
    ids = tuple(map(str, range(len(y_MK))))
    recordings = Recordings("made", ids, "", "", lambda row: np.zeros((12, 5000), np.float32))
    classes = tuple(f"class {k}" for k in range(y_MK.shape[1]))
    return Task("made", classes, recordings, np.arange(len(y_MK)), y_MK, split_M, "", (), 0)


def probed(
    run: str | Path | None, name: str, root: Path, request: Request | None = None, **options: Any
) -> Report:
    """What `evaluate` says of a task by its name."""
    request = request or Request()
    return evaluate(run, request.open(task_named(name), root), request, **options)


def trials_on(
    protocol: Protocol,
    x_MF: np.ndarray,
    y_MK: np.ndarray,
    split_M: np.ndarray,
    fractions: tuple[float, ...],
    seeds: int,
    choose: Any = None,
) -> list[Trial]:
    """What a protocol makes of features."""
    task = made_task(y_MK, split_M)
    return list(protocol.trials(protocol.on_features(Part(x_MF, task.y_MK), choose), task, fractions, seeds))


WHOLE = Request(fractions=(1.0,), resamples=50)
OTHERS = ("encoder, wide", "encoder, mean H", "random encoder", "hand-crafted")
ALONE = replace(WHOLE, without=OTHERS)
"""The encoder's own row, and the one without labels where there are prototypes."""
HALF_AND_WHOLE = Request(fractions=(0.5, 1.0), seeds=2, resamples=50)


def untimed(report: Report) -> dict:
    """Everything but the wall times."""
    return report.model_dump(exclude={"cells": {"__all__": {"seconds"}}})
