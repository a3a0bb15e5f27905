"""Compute metrics of ranking and calibration, by class and by group of records.

A rotation is one of several splits of the same records. `rotation_M` has the number of the rotation in which
each test record was tested, from 0. With it, a metric is the mean over rotations. If it is None, there is a
single rotation. A seed is a random draw of training records: logits [S, M, K] are the predictions of the same
test records by classifiers that were fitted on S draws.

Shapes: M records, K classes, S seeds, R resamples, V distinct logits, N bins or logits in falling order.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score

from marecg.model.card_figures import GroupFigure

Floats = NDArray[np.float64]
RESAMPLES = 1000
"""Number of resamples of the test records for an interval."""
RELIABLE_COUNT = 10
"""Minimum number of positives, and of negatives, for a reliable interval of a class's AUC."""
BINS = 10
"""Number of bins for the calibration error.

Bins have equally many records. In bins of equal width, most records of a rare class would be in the lowest.
"""
DRAWS = 200
"""Number of times that labels are drawn from the probabilities, for the calibration error by chance."""
Rotations = NDArray[np.int64] | None
"""Rotation in which each test record was tested, from 0; None for a single rotation."""


def rotated(rotation_M: Rotations) -> list[Any]:
    """Return the records of each rotation as indices of an array. For None, all records are one rotation."""
    if rotation_M is None:
        return [slice(None)]
    return [np.flatnonzero(rotation_M == number) for number in range(int(rotation_M.max()) + 1)]


def scorable(y_MK: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return whether each class has both positives and negatives, bool [K]."""
    positives_K = y_MK.sum(axis=0, dtype=np.int64)
    return np.asarray((positives_K > 0) & (positives_K < len(y_MK)))


def class_auc(y_MK: NDArray[np.uint8], logits_MK: Floats) -> Floats:
    """Return the ROC AUC of each class, float64 [K]. It is NaN if a class isn't `scorable`.

    The AUC is the Mann–Whitney statistic: the share of (positive, negative) pairs in the right order. Ties
    count half.

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


def macro_auc(y_MK: NDArray[np.uint8], logits_MK: Floats, rotation_M: Rotations = None) -> float:
    """Return the mean AUC over the classes with positives and negatives, or NaN if a rotation has none."""
    auc = []
    for rows in rotated(rotation_M):
        auc_K = class_auc(y_MK[rows], logits_MK[rows])[scorable(y_MK[rows])]
        auc.append(float(auc_K.mean()) if len(auc_K) else float("nan"))
    return float(np.mean(auc))


def mean_macro_auc(y_MK: NDArray[np.uint8], logits_SMK: Floats, rotation_M: Rotations = None) -> float:
    """Return the macro AUC, averaged over seeds."""
    return float(np.mean([macro_auc(y_MK, logits_MK, rotation_M) for logits_MK in logits_SMK]))


def class_ap(y_MK: NDArray[np.uint8], logits_MK: Floats) -> Floats:
    """Return the average precision of each class, float64 [K]. It is NaN if a class isn't `scorable`."""
    scores = [
        average_precision_score(y_M, logits_M) if has_auc else np.nan
        for y_M, logits_M, has_auc in zip(y_MK.T, logits_MK.T, scorable(y_MK), strict=True)
    ]
    return np.array(scores, np.float64)


def f_max(y_MK: NDArray[np.uint8], logits_MK: Floats) -> float:
    """Return the largest sample-centric F₁ over thresholds. All classes have the same threshold.

    As in PTB-XL's benchmark (Strodthoff et al. 2021), precision is the mean over records with a predicted
    class, and recall is the mean over all records. Records without a label are left out. If no record has a
    label, the result is NaN.

    Example:
        >>> f_max(np.array([[1, 0], [0, 1]], np.uint8), np.array([[4.0, 0.0], [2.0, 2.0]]))
        0.8571428571428571
    """
    labelled = y_MK.any(axis=1)
    y_MK, logits_MK = y_MK[labelled], logits_MK[labelled]
    if not len(y_MK):
        return float("nan")
    order_MK = np.argsort(-logits_MK, axis=1, kind="stable")
    y_MK, logits_MK = np.take_along_axis(y_MK, order_MK, 1), np.take_along_axis(logits_MK, order_MK, 1)
    rank_K = np.arange(1, y_MK.shape[1] + 1)
    precise_MK = y_MK.cumsum(axis=1) / rank_K
    falling = np.argsort(-logits_MK, axis=None, kind="stable")  # order in which classes are predicted
    steps = np.diff(precise_MK, axis=1, prepend=0), y_MK / y_MK.sum(axis=1, keepdims=True), rank_K == 1
    precision_N, recall_N, records_N = (
        np.broadcast_to(step, y_MK.shape).ravel()[falling].cumsum() for step in steps
    )
    precision_N, recall_N = precision_N / records_N, recall_N / len(y_MK)
    ends_N = np.diff(logits_MK.ravel()[falling], append=-np.inf) < 0  # equal logits are predicted together
    sum_N = (precision_N + recall_N)[ends_N]
    product_N = (precision_N * recall_N)[ends_N]
    return float(np.max(2 * product_N / np.where(sum_N > 0, sum_N, 1)))


def interval(values_R: Floats) -> tuple[float, float]:
    """Return the 2.5th and 97.5th percentiles of resampled values. NaN is ignored."""
    low, high = np.nanpercentile(values_R, (2.5, 97.5))
    return float(low), float(high)


def resampled_macro_auc(
    y_MK: NDArray[np.uint8], logits_SMK: Floats, resamples: int = RESAMPLES, rotation_M: Rotations = None
) -> Floats:
    """Return the macro AUC, averaged over seeds, for R random weightings of the records, float64 [R].

    This is the Bayesian bootstrap (Rubin 1981). Every record has a positive weight, so each resample has all
    classes. In a bootstrap with replacement, some resamples would lack rare classes. Their macro AUC would be
    a mean over fewer classes.

    The weights depend only on M, R and the rotations, so two methods on the same records can be compared
    resample by resample. Records are weighted within their rotation.
    """
    rotations = []
    for seed, rows in enumerate(rotated(rotation_M)):
        labels_MK = y_MK[rows]
        weight_RM = np.random.default_rng(seed).dirichlet(np.ones(len(labels_MK)), size=resamples)
        rotations.append(weighted_macro_auc(labels_MK, logits_SMK[:, rows], weight_RM))
    return np.asarray(np.mean(rotations, axis=0))


def weighted_macro_auc(y_MK: NDArray[np.uint8], logits_SMK: Floats, weight_RM: Floats) -> Floats:
    """Return the macro AUC, averaged over seeds, for each of R sets of positive weights of the records: [R].

    To resample several tasks with the same records together, pass the same weights for each task.
    """
    classes = np.flatnonzero(scorable(y_MK))
    if not len(classes):
        return np.full(len(weight_RM), np.nan)
    auc_SKR = [
        [_weighted_auc(y_MK[:, k], logits_MK[:, k], weight_RM) for k in classes] for logits_MK in logits_SMK
    ]
    return np.asarray(np.mean(auc_SKR, axis=(0, 1)))


def _weighted_auc(y_M: NDArray[np.uint8], logits_M: Floats, weight_RM: Floats) -> Floats:
    """Return the AUC of a class for R weightings of the records. The class must be `scorable`."""
    order = np.argsort(logits_M, kind="stable")
    _, first = np.unique(logits_M[order], return_index=True)
    positive_RV = np.add.reduceat(weight_RM[:, order] * y_M[order], first, axis=1)
    negative_RV = np.add.reduceat(weight_RM[:, order] * (1 - y_M[order].astype(np.int64)), first, axis=1)
    below_RV = np.cumsum(negative_RV, axis=1) - negative_RV / 2
    pairs_R = positive_RV.sum(axis=1) * negative_RV.sum(axis=1)
    auc_R: Floats = np.minimum(1.0, (positive_RV * below_RV).sum(axis=1) / pairs_R)  # rounding may exceed 1
    return auc_R


class Reliability(NamedTuple):
    """Predicted and observed shares of a class in N bins of records, in ascending order.

    Attributes:
        predicted_N: mean predicted probability.
        observed_N: share of records with the class.
        count_N: number of records.
    """

    predicted_N: Floats
    observed_N: Floats
    count_N: NDArray[np.int64]


def reliability(y_M: NDArray[np.floating], p_M: Floats, bins: int = BINS) -> Reliability:
    """Sort records by probability into bins, and compute the mean probability and true share of each bin.

    The bins have equal numbers of records, up to one record.
    """
    parts = [part for part in np.array_split(np.argsort(p_M, kind="stable"), bins) if len(part)]
    means = [(p_M[part].mean(), y_M[part].mean()) for part in parts]
    predicted_N, observed_N = np.array(means).T
    return Reliability(predicted_N, observed_N, np.array([len(part) for part in parts]))


def expected_calibration_error(y_M: NDArray[np.floating], p_M: Floats, bins: int = BINS) -> float:
    """Return the mean gap between predicted and true shares, weighted by records (Naeini et al. 2015).

    Example:
        >>> expected_calibration_error(np.array([0, 0, 1, 1]), np.array([0.1, 0.1, 0.8, 0.8]), bins=2)
        0.15
    """
    binned = reliability(y_M, p_M, bins)
    gap_N = np.abs(binned.predicted_N - binned.observed_N)
    return float(round((gap_N * binned.count_N).sum() / binned.count_N.sum(), 12))


def error_by_chance(p_M: Floats) -> float:
    """Return the expected calibration error of perfectly calibrated probabilities.

    It isn't zero, because the number of records is finite.
    """
    y_RM = np.random.default_rng(0).random((DRAWS, len(p_M))) < p_M
    return float(np.mean([expected_calibration_error(y_M.astype(float), p_M) for y_M in y_RM]))


AGES = (0, 40, 60, 80, 200)
"""Limits of the age bands, in years."""
MIN_POSITIVES = 5
"""Minimum number of positives, and of negatives, for scores of a class in a group."""


def age_bands(ages: "pd.Series[float]") -> "pd.Series[str]":
    """Return the band of each age, for example `40–59`. The band of a missing age is missing."""
    names = [f"{low}–{high - 1}" if high < AGES[-1] else f"{low}+" for low, high in pairwise(AGES)]
    return pd.cut(ages, AGES, right=False, labels=names).astype(object)


def scored(
    y_MK: NDArray[np.uint8], logits_SMK: Floats, rotation_M: Rotations = None
) -> tuple[float, float, float]:
    """Return the macro AUC, averaged over seeds, and the two ends of its interval.

    Rotations without a scorable class are left out.
    """
    y_MK, logits_SMK, rotation_M = _scorable(y_MK, logits_SMK, rotation_M)
    resamples = resampled_macro_auc(y_MK, logits_SMK, rotation_M=rotation_M)
    return mean_macro_auc(y_MK, logits_SMK, rotation_M), *interval(resamples)


def _scorable(
    y_MK: NDArray[np.uint8], logits_SMK: Floats, rotation_M: Rotations
) -> tuple[NDArray[np.uint8], Floats, Rotations]:
    """Drop the records of rotations without a scorable class. The other rotations are renumbered."""
    if rotation_M is None:
        return y_MK, logits_SMK, None
    rows = np.concatenate([rows for rows in rotated(rotation_M) if scorable(y_MK[rows]).any()])
    return y_MK[rows], logits_SMK[:, rows], np.unique(rotation_M[rows], return_inverse=True)[1]


def group_figures(
    people: Mapping[str, Sequence[object]],
    y_MK: NDArray[np.uint8],
    logits_SMK: Floats,
    rotation_M: Rotations = None,
) -> tuple[GroupFigure, ...]:
    """Return the macro AUC of each group of records.

    It is the mean over the classes with at least `MIN_POSITIVES` positives and as many negatives in the
    group. A group without such a class is left out.

    Args:
        people: M values of each attribute, for example `age`, `sex` or `source`. The records of a group have
            the same value or, for `age` in years, are in the same band (`age_bands`). Records with the value
            None, and attributes with a single value, have no group.
        y_MK: labels.
        logits_SMK: logits of each seed.
        rotation_M: rotation in which each record was tested.
    """
    frame = pd.DataFrame(dict(people), dtype=object)
    if "age" in frame:
        frame["age"] = age_bands(pd.to_numeric(frame["age"]))
    figures: list[GroupFigure] = []
    for kind, values in frame.items():
        names = sorted(values.dropna().unique())
        for name in names if len(names) > 1 else ():
            rows = np.flatnonzero(values == name)
            positives_K = y_MK[rows].sum(axis=0, dtype=np.int64)
            classes = np.flatnonzero(np.minimum(positives_K, len(rows) - positives_K) >= MIN_POSITIVES)
            if not len(classes):
                continue
            rotations = None if rotation_M is None else rotation_M[rows]
            auc, low, high = scored(
                y_MK[np.ix_(rows, classes)], logits_SMK[:, rows][:, :, classes], rotations
            )
            of_all = _scorable(y_MK[:, classes], logits_SMK[:, :, classes], rotation_M)
            figures.append(
                GroupFigure(
                    kind=str(kind),
                    name=str(name),
                    records=len(rows),
                    classes=len(classes),
                    auc=auc,
                    low=low,
                    high=high,
                    everyone=mean_macro_auc(*of_all),
                )
            )
    return tuple(figures)
