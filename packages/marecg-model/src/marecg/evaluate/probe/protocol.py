"""Protocols of probing: what each chooses, and the steps that all share.

Draw a share of the training part, fit on it and choose on val, score test once. A protocol says how the
signals are handed out, how a share is drawn, what is fitted, and what a report must tell of it; ours is
`STRICT`; others are in files of their own (`merl`) or in other packages. What learns is a `Learn`: a
classifier on features (`Protocol.on_features`), or a network that reads the records themselves.
Shapes: M records, K classes, F features.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marecg.errors import InputError
from marecg.evaluate.probe.linear import UNSEEN_LOGIT, Choose, Fitted, Part, check_labels, choose_logistic
from marecg.evaluate.scores.metrics import Floats
from marecg.evaluate.scores.summary import Trial
from marecg.evaluate.tasks.task import SPLITS, TEST, TRAIN, VAL, Task, View, unchanged
from marecg.model.mar_ecg import MarEcg

Draw = Callable[[NDArray[np.uint8], float, int], NDArray[np.int64]]
"""Labels of the training part, share and seed → the numbers of the drawn records."""
Rows = NDArray[np.int64]
"""Numbers of a task's labelled records."""
OVER = "mean over the classes that have positives and negatives in test; the others are left out"
"""Which classes the macro AUC is over, by every protocol."""
Learn = Callable[[Rows, Rows], Fitted]
"""Learns a task's labels from some of its records, and chooses on others."""


@dataclass
class SealedTest:
    """Test records that are scored once, by the chosen classifier."""

    _rows: Rows
    _open: bool = field(default=False, init=False)

    def score(self, fitted: Fitted) -> Floats:
        """Return logits [M, K] of the test records; a second call is a programming error."""
        assert not self._open, "the test part was already scored"
        self._open = True
        return fitted.logits(self._rows)


@dataclass(frozen=True)
class Protocol:
    """Rules by which features are judged.

    Attributes:
        name: by which `marecg probe --protocol` knows it.
        normalisation: how signals and features are scaled, in words; see `results.Report`.
        policy: which classes the macro AUC is over, in words.
        draw: how a share of the training part is drawn.
        choose: the classifier that is put on the features.
        notes: differences from the published code that the protocol follows.
        view: how the recordings are handed to a method.
        seed: of the only draw of a share; None where there is one per seed that was asked for.
        own_classifiers: whether a method with a classifier of its own is judged by that, as baselines are.
        unseen_logit: what counts of a class that the drawn records don't show, whatever the classifier says
            of it; None if that counts.
        reader: makes the method (`methods.method.Method`) that reads an encoder, by its name, in place of a
            readout; None where the readout that was asked for is read.
        row: of what that reads, the row that a report is about.
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
    reader: Callable[[str, MarEcg], Any] | None = None
    row: str = ""

    def on_features(self, values: Part, choose: Choose | None) -> Learn:
        """Return a function that fits the classifier to records of a task by their numbers."""
        classifier = (choose if self.own_classifiers else None) or self.choose

        def learn(train: Rows, val: Rows) -> Fitted:
            probe = classifier(values.records(train), values.records(val))
            return Fitted(
                probe.chosen, probe.val_auc, probe.untrained, lambda rows: probe.logits(values.x_MF[rows])
            )

        return learn

    def trials(self, learn: Learn, task: Task, fractions: Sequence[float], seeds: int) -> Iterator[Trial]:
        """Yield a trial per share of the training records and seed; the whole of them is probed once.

        Args:
            learn: from the task's records by their numbers.
            task: labels and split.
            fractions: shares of the training part.
            seeds: how many draws of each share below 1.

        Raises:
            InputError: a part has no records, or nothing can be told on test or chosen on val.
        """
        part = {name: np.flatnonzero(task.split_M == name) for name in SPLITS}
        if empty := [name for name, rows in part.items() if not len(rows)]:
            raise InputError(f"the task has no {' and no '.join(empty)} records", remedy="Give more records")
        check_labels(task.y_MK[part[TEST]], "test")
        drawn = range(seeds) if self.seed is None else (self.seed,)
        for fraction in fractions:
            for seed in drawn if fraction < 1 else drawn[:1]:
                began = time.perf_counter()
                train = part[TRAIN][self.draw(task.y_MK[part[TRAIN]], fraction, seed)]
                test = SealedTest(part[TEST])
                fitted = learn(train, part[VAL])
                logits_MK = test.score(fitted)
                if self.unseen_logit is not None:
                    logits_MK[:, list(fitted.untrained)] = self.unseen_logit
                yield Trial(
                    fraction=fraction,
                    seed=seed,
                    train=train,
                    chosen=fitted.chosen,
                    val_auc=fitted.val_auc,
                    untrained=fitted.untrained,
                    logits_MK=logits_MK,
                    seconds=time.perf_counter() - began,
                )


def draw(y_MK: NDArray[np.uint8], fraction: float, seed: int) -> NDArray[np.int64]:
    """Draw a stratified share: sorted numbers of round(fraction · M) records, at least one.

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


STRICT = Protocol(
    name="strict",
    normalisation="signals in mV; every feature standardised on the drawn training records",
    policy=f"{OVER}. A class that the drawn training records don't show counts ½, or as its concepts rank it",
    draw=draw,
    choose=choose_logistic,
    own_classifiers=True,
    unseen_logit=UNSEEN_LOGIT,
)
