"""Define methods, which compute features from signals, and rows of a report, which evaluate features.

Shapes: R recordings, M labelled records, K classes, B batch, F features, L samples.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from marecg.evaluate.probe.linear import Choose, Part
from marecg.evaluate.scores.summary import Trial
from marecg.evaluate.tasks.task import TEST, Task

Signals = list[NDArray[np.float32]]


@dataclass(frozen=True)
class Row:
    """Row of a report: columns of a method's features, and how to classify them.

    Attributes:
        columns: columns of the features.
        weight_F: factors by which the standardised features are multiplied, if any.
        choose: function that fits a classifier on these features; None for the protocol's classifier.
        of_classes: function from features [M, F] and the task to a further feature for each class, [M, K].
            Only the class's own classifier reads the feature.
        own_weight: factor by which the standardised features from `of_classes` are multiplied.
        without_labels: function that scores the features of test records without learning from labels. It
            returns None if it can't score the task.
    """

    columns: slice = field(default_factory=lambda: slice(None))
    weight_F: NDArray[np.float32] | None = None
    choose: Choose | None = None
    of_classes: Callable[[NDArray[np.float32], Task], NDArray[np.floating]] | None = None
    own_weight: float = 1.0
    without_labels: Callable[[NDArray[np.float32], Task], Trial | None] | None = None


@dataclass(frozen=True)
class FeatureTable:
    """Features of all recordings of a task.

    Attributes:
        x_RF: features, float32. They are NaN for unreadable recordings.
        unreadable: reason of each unreadable recording, by id.
        row: row of the report, which defines how the features are evaluated.
        sha256: hash that changes when the features or the row change.
    """

    x_RF: NDArray[np.float32]
    unreadable: dict[str, str]
    row: Row = Row()
    sha256: str = ""

    @property
    def width(self) -> int:
        """Return the number of features from which a class is scored."""
        return int(self.x_RF.shape[1]) + (self.row.of_classes is not None)

    def values(self, task: Task) -> Part:
        """Return the features of a task's records, followed by the features of `Row.of_classes`, if any."""
        x_MF, weight_F = self.x_RF[task.row_M], self.row.weight_F
        if self.row.of_classes is None:
            return Part(x_MF, task.y_MK, weight_F)
        own_MK = self.row.of_classes(x_MF, task)
        weights = np.ones(x_MF.shape[1], np.float32) if weight_F is None else weight_F
        weight_F = np.r_[weights, np.full(own_MK.shape[1], self.row.own_weight, np.float32)]
        return Part(np.c_[x_MF, own_MK], task.y_MK, weight_F, class_wise=True)

    def unlearnt(self, task: Task) -> Trial | None:
        """Return the scores of the test records if the row needs no labels, or None for any other row."""
        score = self.row.without_labels
        return score(self.x_RF[task.part(TEST).row_M], task) if score else None


@dataclass(frozen=True)
class Method:
    """Method that extracts features from signals.

    Attributes:
        name: name of the method, such as `encoder`.
        sha256: hash that changes when the method computes other features.
        compute: function from B signals, float32 [12, L] in mV at 500 Hz, to features, float [B, F].
        choose: function that fits a classifier on these features; None for the protocol's classifier.
        verify: function that raises if the method no longer matches `sha256`.
        rows: rows of the report, by name. If empty, there is a single row with all features and the name of
            the method.
        apart: whether the method may run in other processes. Such a method is small, starts no threads, and
            has no state.
        check: function that raises `InputError` if the method can't handle a task.
    """

    name: str
    sha256: str
    compute: Callable[[Signals], NDArray[np.floating]]
    choose: Choose | None = None
    verify: Callable[[], None] = lambda: None
    rows: Mapping[str, Row] = field(default_factory=dict, hash=False)
    apart: bool = False
    check: Callable[[Task], None] = lambda task: None

    @property
    def judged(self) -> Mapping[str, Row]:
        """Return the rows of the report by name: `rows`, or a single row with all features."""
        return self.rows or {self.name: Row(choose=self.choose)}

    def read(self, name: str, features: FeatureTable) -> FeatureTable:
        """Select the columns of `features` that belong to the row `name` of the report."""
        row = self.judged[name]
        sha256 = f"{self.sha256} {row.columns} {name}"
        return replace(features, x_RF=features.x_RF[:, row.columns], row=row, sha256=sha256)
