"""What a protocol is, and how every one of them walks.

Draw a share of the training part, fit on it and choose on val, score test once. A protocol says how the
signals are handed out, how a share is drawn, what is fitted, and what a report must tell of it; each has a
file of its own (`strict`, `merl`), and may have one outside of this package.
Shapes: M records, K classes, F features.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marecg.base.errors import InputError
from marecg.evaluate.probe.linear import Choose, Part, SealedTest, check_labels
from marecg.evaluate.scores.trial import Trial
from marecg.evaluate.tasks.task import SPLITS, TEST, TRAIN, VAL, Recordings

Draw = Callable[[NDArray[np.uint8], float, int], NDArray[np.int64]]
"""Labels of the training part, share and seed → the numbers of the drawn records."""
View = Callable[[Recordings], Recordings]
"""The recordings as a data set holds them → as a method gets them."""


def unchanged(recordings: Recordings) -> Recordings:
    """The recordings as they are."""
    return recordings


@dataclass(frozen=True)
class Protocol:
    """A way to judge features.

    Attributes:
        name: by which `marecg probe --protocol` knows it.
        normalisation: how signals and features are scaled, in words; see `results.Report`.
        policy: which classes the macro AUC is over, in words.
        draw: how a share of the training part is drawn.
        choose: the classifier that is put on the features.
        notes: what is done otherwise than in the code that the protocol follows.
        view: how the recordings are handed to a method.
        seed: of the only draw of a share; None where there is one per seed that was asked for.
        own_classifiers: whether a method with a classifier of its own is judged by that, as baselines are.
        unseen_logit: what counts of a class that the drawn records don't show, whatever the classifier says
            of it; None if that counts.
        by_position: whether labels are read from split tables by position, as MERL's loader does.
    """

    name: str
    normalisation: str
    policy: str
    draw: Draw
    choose: Choose
    notes: tuple[str, ...] = ()
    view: View = unchanged
    seed: int | None = None
    own_classifiers: bool = False
    unseen_logit: float | None = None
    by_position: bool = False

    def trials(
        self,
        x_MF: NDArray[np.floating],
        y_MK: NDArray[np.uint8],
        split_M: NDArray[np.str_],
        fractions: Sequence[float],
        seeds: int,
        choose: Choose | None = None,
    ) -> Iterator[Trial]:
        """Probe one method's features: a trial per share and seed; the whole training part is probed once.

        Args:
            x_MF: the features of all records.
            y_MK: their labels.
            split_M: the part of each.
            fractions: shares of the training part.
            seeds: how many draws of each share below 1.
            choose: the method's own classifier, if it has one.

        Raises:
            InputError: a part has no records, or nothing can be told on test or chosen on val.
        """
        classifier = choose if choose and self.own_classifiers else self.choose
        drawn = range(seeds) if self.seed is None else (self.seed,)
        for trial in _walk(x_MF, y_MK, split_M, fractions, drawn, self.draw, classifier):
            if self.unseen_logit is not None:
                trial.logits_MK[:, list(trial.untrained)] = self.unseen_logit
            yield trial


def _walk(
    x_MF: NDArray[np.floating],
    y_MK: NDArray[np.uint8],
    split_M: NDArray[np.str_],
    fractions: Sequence[float],
    seeds: Sequence[int],
    draw: Draw,
    choose: Choose,
) -> Iterator[Trial]:
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
