"""Tasks without signals, for what learns from labels and features alone."""

from typing import Any

import numpy as np

from marecg.evaluate.probe.protocol import Protocol
from marecg.evaluate.scores.summary import Trial
from marecg.evaluate.tasks.task import Recordings, Task


def made_task(y_MK: np.ndarray, split_M: np.ndarray) -> Task:
    """A task whose records are numbered."""
    ids = tuple(map(str, range(len(y_MK))))
    recordings = Recordings("made", ids, "", "", lambda row: np.zeros((12, 5000), np.float32))
    classes = tuple(f"class {k}" for k in range(y_MK.shape[1]))
    return Task("made", classes, recordings, np.arange(len(y_MK)), y_MK, split_M, "", (), 0)


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
    return list(protocol.trials(protocol.on_features(x_MF, task, choose), task, fractions, seeds))
