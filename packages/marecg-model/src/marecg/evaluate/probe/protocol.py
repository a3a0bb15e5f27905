"""Define protocols of probing, and the steps that all protocols share.

The steps are: draw a share of the training records, fit a classifier on it, choose its strength or epoch on
the validation records (val), and score the test records once. A protocol defines how signals are prepared,
how a share is drawn, what is fitted, and the notes of a report. The default is `STRICT`. Other protocols are
in separate files (`merl`) or in other packages.

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
"""Function from the labels of the training part, a share and a seed to the numbers of the drawn records."""
Rows = NDArray[np.int64]
"""Numbers of a task's labelled records."""
OVER = "mean over the classes that have positives and negatives in test; the others are left out"
"""Description of the macro AUC in every protocol."""
Learn = Callable[[Rows, Rows], Fitted]
"""Function from the numbers of training and validation records to a fitted classifier.

The classifier reads features (`Protocol.on_features`), or it is a network that reads the signals.
"""


@dataclass
class SealedTest:
    """Test records, which can be scored only once."""

    _rows: Rows
    _open: bool = field(default=False, init=False)

    def score(self, fitted: Fitted) -> Floats:
        """Return the logits [M, K] of the test records. A second call is a programming error."""
        assert not self._open, "the test part was already scored"
        self._open = True
        return fitted.logits(self._rows)


@dataclass(frozen=True)
class Protocol:
    """Rules for evaluating features.

    Attributes:
        name: name for `marecg probe --protocol`.
        normalisation: description of how signals and features are scaled; see `results.Report`.
        policy: description of the classes that the macro AUC averages over.
        draw: function that draws a share of the training records (`Draw`).
        choose: function that fits the classifier on features.
        notes: differences from the published code that the protocol follows.
        view: function that prepares the recordings before a method reads them, for example cuts and scales.
        seed: seed, if each share is drawn only once; None if each share is drawn with all requested seeds.
        own_classifiers: whether a method may use its own classifier, for example a baseline's network.
        unseen_logit: logit of a class without examples in the drawn records; None if the classifier's logit
            is used.
        reader: function from a name and an encoder to a method (`methods.method.Method`), which computes the
            encoder's features; None if the requested readout is used.
        row: name of the row that a report is about, which is a row of the reader's method; "" without a
            reader.
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
        """Return a function that fits the classifier on selected records.

        Args:
            values: features and labels of all records of the task.
            choose: function that fits the method's own classifier; None for the protocol's classifier.
        """
        classifier = (choose if self.own_classifiers else None) or self.choose

        def learn(train: Rows, val: Rows) -> Fitted:
            probe = classifier(values.records(train), values.records(val))
            return Fitted(
                probe.chosen, probe.val_auc, probe.untrained, lambda rows: probe.logits(values.x_MF[rows])
            )

        return learn

    def trials(self, learn: Learn, task: Task, fractions: Sequence[float], seeds: int) -> Iterator[Trial]:
        """Yield a trial for each share of the training records and each seed. The share 1 is probed once.

        Args:
            learn: function that fits a classifier.
            task: labels and split.
            fractions: shares of the training part.
            seeds: number of random draws of each share below 1.

        Raises:
            InputError: a part has no records, or no class has both positives and negatives in test or val.
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
    """Draw a stratified share, and return the sorted numbers of its records.

    The share has round(fraction · M) records, but at least one record. It is drawn by systematic sampling
    (Cochran 1977, §8). Records are ordered by their set of labels, starting with the rarest class, and at
    random within a set. So the number of drawn records of a set, or of the rarest class, is exact to within
    one record.
    """
    count = max(1, round(fraction * len(y_MK)))
    generator = np.random.default_rng((seed, count))
    commonest_first = np.argsort(-y_MK.sum(axis=0, dtype=np.int64), kind="stable")
    order = np.lexsort((generator.random(len(y_MK)), *y_MK.T[commonest_first]))
    step = len(y_MK) / count
    positions = np.floor((np.arange(count) + generator.random()) * step).astype(np.int64)
    return np.sort(order[positions])


STRICT = Protocol(
    name="strict",
    normalisation="signals in mV; every feature standardised on the drawn training records",
    policy=f"{OVER}. A class without examples in the drawn training records counts ½, or its concepts' AUC",
    draw=draw,
    choose=choose_logistic,
    own_classifiers=True,
    unseen_logit=UNSEEN_LOGIT,
)
