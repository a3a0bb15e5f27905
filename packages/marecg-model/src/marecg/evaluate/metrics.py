"""How well logits rank records, class by class. Pure functions on arrays.

Shapes: M records, K classes.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]


def scorable(y_MK: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which classes have both positives and negatives, so that an AUC exists: bool [K]."""
    positives_K = y_MK.sum(axis=0, dtype=np.int64)
    return np.asarray((positives_K > 0) & (positives_K < len(y_MK)))


def class_auc(y_MK: NDArray[np.uint8], logits_MK: Floats) -> Floats:
    """ROC AUC of every class, ties counting half: float64 [K]; NaN where a class is not scorable.

    It is the Mann–Whitney statistic: the share of (positive, negative) pairs in the right order.

    Example:
        >>> y = np.array([[0, 1], [1, 1], [1, 1]], np.uint8)
        >>> class_auc(y, np.array([[0.1, 0.0], [0.1, 0.0], [0.9, 0.0]]))
        array([0.75,  nan])
    """
    positives_K = y_MK.sum(axis=0, dtype=np.int64)
    pairs_K = positives_K * (len(y_MK) - positives_K)
    rank_sum_K = (rankdata(logits_MK, axis=0) * y_MK).sum(axis=0)
    ordered_K = rank_sum_K - positives_K * (positives_K + 1) / 2
    auc_K = np.full(len(pairs_K), np.nan)
    np.divide(ordered_K, pairs_K, out=auc_K, where=pairs_K > 0)
    return auc_K


def macro_auc(y_MK: NDArray[np.uint8], logits_MK: Floats) -> float:
    """The mean AUC over the scorable classes; NaN where there is none."""
    auc_K = class_auc(y_MK, logits_MK)[scorable(y_MK)]
    return float(auc_K.mean()) if len(auc_K) else float("nan")
