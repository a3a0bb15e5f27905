"""Labels given to `EcgClassifier.fit`.

Shapes: B records, K classes.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marecg.errors import UsageError


def targets_of(y: ArrayLike, records_: int) -> tuple[NDArray[np.float64], NDArray[Any], bool]:
    """Return the targets [B, K], the classes, and whether a record may have several classes.

    Raises `UsageError` if no classifier can be fitted to the labels.
    """
    try:
        labels = np.asarray(y)
        classes, place_B = np.unique(labels, return_inverse=True)
    except ValueError as error:
        remedy = "Give a table [records, classes]"
        raise UsageError("labels have rows of several lengths", remedy=remedy) from error
    except TypeError as error:  # None among strings
        raise UsageError("labels are of several kinds", remedy="Give words, or whole numbers") from error
    given = len(labels) if labels.ndim else 0
    if given != records_:
        raise UsageError(f"there are {given} labels for {records_} records", remedy="Give one each")
    if records_ < 2:
        raise UsageError("one record isn't training", remedy="Give two at least: one decides when to stop")
    if labels.ndim == 2:
        if not labels.shape[1]:
            raise UsageError("a table of labels has no classes", remedy="Give a column for each")
        if labels.dtype.kind not in "biuf" or not np.isin(labels[np.isfinite(labels)], (0, 1)).all():
            remedy = "Give 1 where a class applies, NaN where nobody knows"
            raise UsageError("a table of labels holds more than 0 and 1", remedy=remedy)
        return labels.astype(np.float64), np.arange(labels.shape[1]), True
    if labels.ndim == 1 and labels.dtype.kind == "f" and np.isin(labels, (0, 1)).all():
        classes = classes.astype(np.int64)
    elif labels.ndim != 1 or labels.dtype.kind == "f":
        raise UsageError(f"labels have shape {labels.shape} and type {labels.dtype}", remedy="Give classes")
    if len(classes) < 2:
        raise UsageError("all records have one label", remedy="Give records of two classes at least")
    return np.eye(len(classes))[place_B], classes, False
