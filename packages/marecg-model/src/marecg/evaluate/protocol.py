"""How a task is split, how often it is asked, and what is reported of it.

Protocol `strict`: train on a share of the training part, choose the L2 strength on val, score test once.
Shares below 1 are drawn anew for every seed, stratified over the classes.
Shapes: M records, K classes, F features.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marecg.errors import InputError
from marecg.evaluate.metrics import Floats
from marecg.evaluate.probe import Choose, Part, SealedTest, choose_logistic
from marecg.evaluate.tasks import SPLITS, TEST, TRAIN, VAL


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
    """

    fraction: float
    seed: int
    train: NDArray[np.int64]
    chosen: float | None
    val_auc: float | None
    untrained: tuple[int, ...]
    logits_MK: Floats


def strict(
    x_MF: NDArray[np.floating],
    y_MK: NDArray[np.uint8],
    split_M: NDArray[np.str_],
    fractions: tuple[float, ...],
    seeds: int,
    choose: Choose = choose_logistic,
) -> Iterator[Trial]:
    """Probe one method's features; the whole training part is probed once, as every seed draws the same.

    Raises:
        InputError: a part has no records.
    """
    part = parts_of(split_M)
    val = Part(x_MF[part[VAL]], y_MK[part[VAL]])
    for fraction in fractions:
        for seed in range(seeds if fraction < 1 else 1):
            train = part[TRAIN][draw(y_MK[part[TRAIN]], fraction, seed)]
            test = SealedTest(Part(x_MF[part[TEST]], y_MK[part[TEST]]))
            probe = choose(Part(x_MF[train], y_MK[train]), val)
            yield Trial(
                fraction=fraction,
                seed=seed,
                train=train,
                chosen=probe.chosen,
                val_auc=probe.val_auc,
                untrained=probe.untrained,
                logits_MK=test.score(probe),
            )


def parts_of(split_M: NDArray[np.str_]) -> dict[str, NDArray[np.int64]]:
    """The record numbers of every part.

    Raises:
        InputError: a part has no records.
    """
    part = {name: np.flatnonzero(split_M == name) for name in SPLITS}
    empty = [name for name in SPLITS if not len(part[name])]
    if empty:
        raise InputError(f"the task has no {' and no '.join(empty)} records", remedy="Give more records")
    return part


def draw(y_MK: NDArray[np.uint8], fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw a stratified share: the sorted numbers of round(fraction · M) records, at least one.

    Systematic sampling (Cochran 1977, §8) from the list ordered by label set, rarest class first and at
    random within a set: each label set, and the rarest class as a whole, gets its share to within one record.
    """
    count = max(1, round(fraction * len(y_MK)))
    generator = np.random.default_rng((seed, count))
    commonest_first = np.argsort(-y_MK.sum(axis=0, dtype=np.int64), kind="stable")
    order = np.lexsort((generator.random(len(y_MK)), *y_MK.T[commonest_first]))
    step = len(y_MK) / count
    places = np.floor((np.arange(count) + generator.random()) * step).astype(np.int64)
    return np.sort(order[places])
