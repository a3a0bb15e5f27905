"""Methods, which turn signals into features, and the report's rows, which read those features.

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
    """Row of a report: the columns of features that are classified, and by which rules.

    Attributes:
        columns: of the features.
        weight_F: what they are multiplied by once they are standardised, if by anything.
        choose: the classifier that belongs to them, if any; a protocol has one for all others.
        of_classes: a further value per class, which is read by that class alone: features [M, F] and the task
            → [M, K].
        own_weight: what those are multiplied by.
        without_labels: scores the test records' features, so that nothing is learnt; None where the task
            can't be asked so.
    """

    columns: slice = field(default_factory=lambda: slice(None))
    weight_F: NDArray[np.float32] | None = None
    choose: Choose | None = None
    of_classes: Callable[[NDArray[np.float32], Task], NDArray[np.floating]] | None = None
    own_weight: float = 1.0
    without_labels: Callable[[NDArray[np.float32], Task], Trial | None] | None = None


@dataclass(frozen=True)
class FeatureTable:
    """Features float32 [R, F], NaN for unreadable recordings, and their reasons by id.

    `row` says how they are judged, and `sha256` changes when they or that would.
    """

    x_RF: NDArray[np.float32]
    unreadable: dict[str, str]
    row: Row = Row()
    sha256: str = ""

    @property
    def width(self) -> int:
        """Return the number of values from which a class is scored."""
        return int(self.x_RF.shape[1]) + (self.row.of_classes is not None)

    def values(self, task: Task) -> Part:
        """Return the features of a task's records, followed by a value per class if the row has them."""
        x_MF, weight_F = self.x_RF[task.row_M], self.row.weight_F
        if self.row.of_classes is None:
            return Part(x_MF, task.y_MK, weight_F)
        own_MK = self.row.of_classes(x_MF, task)
        weights = np.ones(x_MF.shape[1], np.float32) if weight_F is None else weight_F
        weight_F = np.r_[weights, np.full(own_MK.shape[1], self.row.own_weight, np.float32)]
        return Part(np.c_[x_MF, own_MK], task.y_MK, weight_F, class_wise=True)

    def unlearnt(self, task: Task) -> Trial | None:
        """Return the test records' scores of a row that needs no labels; None for other rows."""
        score = self.row.without_labels
        return score(self.x_RF[task.part(TEST).row_M], task) if score else None


@dataclass(frozen=True)
class Method:
    """Method that extracts features from signals.

    Attributes:
        name: such as `encoder`.
        sha256: changes when the features would.
        compute: B arrays float32 [12, L] in mV at 500 Hz → float [B, F].
        choose: the classifier that belongs to the features, if any; a protocol has one for all others.
        verify: raises when the method is no longer what `sha256` says.
        rows: what is judged, by name; all features, under the method's own name, if there are none.
        apart: whether other processes may compute it: it is small, has no threads of its own, and
            learns nothing from one batch for the next.
        check: raises `InputError` where a task can't be asked of it.
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
        """Return the rows of the report."""
        return self.rows or {self.name: Row(choose=self.choose)}

    def read(self, name: str, features: FeatureTable) -> FeatureTable:
        """Return the features of one row of the report."""
        row = self.judged[name]
        sha256 = f"{self.sha256} {row.columns} {name}"
        return replace(features, x_RF=features.x_RF[:, row.columns], row=row, sha256=sha256)
