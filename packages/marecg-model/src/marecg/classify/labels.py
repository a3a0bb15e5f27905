"""Convert the labels passed to `EcgClassifier.fit`.

Shapes: B records, K classes.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marecg.errors import UsageError


def targets_of(y: ArrayLike, n_records: int) -> tuple[NDArray[np.float64], NDArray[Any], bool]:
    """Return the targets [B, K], the classes, and whether a record may have several classes.

    Raises `UsageError` if no classifier can be fitted to the labels.
    """
    try:
        labels = np.asarray(y)
        classes, class_B = np.unique(labels, return_inverse=True)
    except ValueError as error:
        remedy = "Give a table [records, classes]"
        raise UsageError("a table of labels must have rows of equal length", remedy=remedy) from error
    except TypeError as error:  # None among strings
        raise UsageError("labels must be either all strings or all integers") from error
    n_labels = len(labels) if labels.ndim else 0
    if n_labels != n_records:
        raise UsageError(
            f"labels must have one entry per record: got {n_labels} labels for {n_records} records"
        )
    if n_records < 2:
        raise UsageError("training needs at least 2 records, got 1 (one is held out for early stopping)")
    if labels.ndim == 2:
        if not labels.shape[1]:
            raise UsageError("a table of labels must have one column per class, got none")
        if labels.dtype.kind not in "biuf" or not np.isin(labels[np.isfinite(labels)], (0, 1)).all():
            remedy = "Write NaN if a label is unknown"
            raise UsageError("a table of labels must contain only 0, 1 and NaN", remedy=remedy)
        return labels.astype(np.float64), np.arange(labels.shape[1]), True
    if labels.ndim == 1 and labels.dtype.kind == "f" and np.isin(labels, (0, 1)).all():
        classes = classes.astype(np.int64)
    elif labels.ndim != 1 or labels.dtype.kind == "f":
        raise UsageError(
            f"labels must be one class per record, got shape {labels.shape} and type {labels.dtype}"
        )
    if len(classes) < 2:
        raise UsageError("labels must have at least 2 classes, got 1")
    return np.eye(len(classes))[class_B], classes, False
