"""What a probe leaves to be scored.

Shapes: M records, K classes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marecg.evaluate.scores.metrics import Floats


@dataclass(frozen=True)
class Trial:
    """One probe: on which share, drawn with which seed, and what it said of the test records.

    Attributes:
        fraction: the share of the training part.
        seed: the seed of the draw.
        train: int64, the training records by number.
        chosen: what was chosen on val: C in `strict`, the epoch in `merl`, α for ridge; None if nothing was.
        val_auc: the macro AUC on val of what was chosen.
        untrained: classes (by number) that the drawn records don't show.
        logits_MK: on the test records.
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
