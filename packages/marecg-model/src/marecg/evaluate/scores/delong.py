"""DeLong's test for the difference of two macro AUCs on the same records.

DeLong, DeLong & Clarke-Pearson 1988, doi:10.2307/2531595, by the midranks of Sun & Xu 2014,
doi:10.1109/LSP.2014.2337313. An AUC is a mean over positives and a mean over negatives of how each is
placed among the others, so its variance is a sum over records of one contribution squared. A macro AUC, a
mean over seeds and a difference of methods are linear in the AUCs: their contributions are added up record
by record first, which carries every covariance between classes, seeds and methods along.
Shapes: M records, K classes, S seeds, P positives and N negatives of a class.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from marecg.evaluate.scores.metrics import Floats, Rotations, rotated, scorable
from marecg.evaluate.scores.results import AucDifference

CENTRAL = float(norm.ppf(0.975))


def delong(
    y_MK: NDArray[np.uint8], one_SMK: Floats, other_SMK: Floats, rotation_M: Rotations = None
) -> AucDifference:
    """The macro AUC of `one` minus that of `other`, both averaged over their seeds.

    The probes are taken as given: the spread is that over test records. A class with a single positive (or
    negative) shows no spread among its positives, and adds none.
    """
    rotations = rotated(rotation_M)
    means, added = [], []
    for rows in rotations:
        (one, one_M), (other, other_M) = (
            _macro(y_MK[rows], logits_SMK[:, rows]) for logits_SMK in (one_SMK, other_SMK)
        )
        means.append(one - other)
        added.append((one_M - other_M) / len(rotations))
    mean, sd = float(np.mean(means)), float(np.linalg.norm(np.concatenate(added)))
    p = 2 * float(norm.sf(abs(mean) / sd)) if sd else float(mean == 0)
    return AucDifference(mean=mean, low=mean - CENTRAL * sd, high=mean + CENTRAL * sd, p=p)


def contributions(y_M: NDArray[np.uint8], logits_M: Floats) -> tuple[float, Floats]:
    """One class's AUC, and what each record adds to its variance: float64 [M], to be squared and summed."""
    positive_M = y_M == 1
    positives, negatives = int(positive_M.sum()), int((~positive_M).sum())
    rank_M = rankdata(logits_M)
    below_P = (rank_M[positive_M] - rankdata(logits_M[positive_M])) / negatives
    above_N = 1 - (rank_M[~positive_M] - rankdata(logits_M[~positive_M])) / positives
    auc = float(below_P.mean())
    added_M = np.zeros(len(y_M))
    added_M[positive_M] = (below_P - auc) / np.sqrt(positives * max(positives - 1, 1))
    added_M[~positive_M] = (above_N - auc) / np.sqrt(negatives * max(negatives - 1, 1))
    return auc, added_M


def _macro(y_MK: NDArray[np.uint8], logits_SMK: Floats) -> tuple[float, Floats]:
    """The mean over seeds and scorable classes of both."""
    by_class = [
        contributions(y_MK[:, k], logits_MK[:, k])
        for logits_MK in logits_SMK
        for k in np.flatnonzero(scorable(y_MK))
    ]
    return float(np.mean([auc for auc, _ in by_class])), np.mean([added_M for _, added_M in by_class], axis=0)
