"""How a task is split, how often it is asked, and what is reported of it.

Every protocol walks the same way: draw a share of the training part, fit on it and choose on val, score test
once. `strict` draws anew for every seed, stratified over the classes, and chooses the L2 strength.
Shapes: M records, K classes, F features.
"""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from marecg.errors import InputError
from marecg.evaluate.probe.linear import NEVER, Choose, Part, SealedTest, check_labels, choose_logistic
from marecg.evaluate.scores.trial import Trial
from marecg.evaluate.tasks.task import SPLITS, TEST, TRAIN, VAL

Draw = Callable[[NDArray[np.uint8], float, int], NDArray[np.int64]]
"""Labels of the training part, share and seed → the numbers of the drawn records."""


def strict(
    x_MF: NDArray[np.floating],
    y_MK: NDArray[np.uint8],
    split_M: NDArray[np.str_],
    fractions: tuple[float, ...],
    seeds: int,
    choose: Choose = choose_logistic,
) -> Iterator[Trial]:
    """Probe one method's features; the whole training part is probed once, as every seed draws the same.

    Whatever classifier `choose` fits, what it says of a class that it never saw doesn't count: the logits
    there are `NEVER`, so the AUC is ½.

    Raises:
        InputError: a part has no records.
    """
    for trial in walk(x_MF, y_MK, split_M, fractions, range(seeds), draw, choose):
        trial.logits_MK[:, list(trial.untrained)] = NEVER
        yield trial


def walk(
    x_MF: NDArray[np.floating],
    y_MK: NDArray[np.uint8],
    split_M: NDArray[np.str_],
    fractions: tuple[float, ...],
    seeds: Sequence[int],
    draw: Draw,
    choose: Choose,
) -> Iterator[Trial]:
    """One trial per share and seed, the whole training part with the first seed alone.

    Raises:
        InputError: a part has no records, or nothing can be told on test or chosen on val.
    """
    part = parts_of(split_M)
    check_labels(y_MK[part[TEST]], "test")
    train_y, val = y_MK[part[TRAIN]], Part(x_MF[part[VAL]], y_MK[part[VAL]])
    for fraction in fractions:
        for seed in seeds if fraction < 1 else seeds[:1]:
            began = time.perf_counter()
            train = part[TRAIN][draw(train_y, fraction, seed)]
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
                seconds=time.perf_counter() - began,
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
