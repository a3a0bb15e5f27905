"""What a probe leaves to be scored.

Shapes: M records, K classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marecg.evaluate.scores.metrics import Floats


@dataclass(frozen=True)
class Trial:
    """One probe: on which share, drawn with which seed, and what it said of the test records.

    Attributes:
        train: int64, the training records by number.
        chosen: what was chosen on val: C in `strict`, the epoch in `merl`, α for ridge; None if nothing was.
        val_auc: the macro AUC on val of what was chosen.
        untrained: classes (by number) that the drawn records don't show.
        seconds: wall time of draw, fit, choice and scoring.
    """

    fraction: float
    seed: int
    train: NDArray[np.int64]
    chosen: float | None
    val_auc: float | None
    untrained: tuple[int, ...]
    logits_MK: Floats
    seconds: float


def pooled(rotations: Sequence[Sequence[Trial]]) -> list[Trial]:
    """The same draw of every rotation as one trial: all test records in a row, what was chosen averaged."""
    return (
        list(rotations[0])
        if len(rotations) == 1
        else [_pooled(draw) for draw in zip(*rotations, strict=True)]
    )


def _pooled(draws: Sequence[Trial]) -> Trial:
    return Trial(
        fraction=draws[0].fraction,
        seed=draws[0].seed,
        train=draws[0].train,
        chosen=_mean([draw.chosen for draw in draws]),
        val_auc=_mean([draw.val_auc for draw in draws]),
        untrained=tuple(sorted({k for draw in draws for k in draw.untrained})),
        logits_MK=np.concatenate([draw.logits_MK for draw in draws]),
        seconds=sum(draw.seconds for draw in draws),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None
