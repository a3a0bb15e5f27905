"""Whether probabilities come true. Pure functions on arrays.

Shapes: M records, N bins, R records of one bin.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marecg.evaluate.scores.metrics import Floats

BINS = 10
"""Of equally many records, so that a rare class isn't judged by its many sure negatives alone."""
DRAWS = 200
"""Of labels by the probabilities themselves, for what chance alone shows."""


class Reliability(NamedTuple):
    """What was said and what was, in bins of rising probability: means and shares [N], and records [N]."""

    predicted_N: Floats
    observed_N: Floats
    count_N: NDArray[np.int64]


def reliability(y_M: NDArray[np.floating], p_M: Floats, bins: int = BINS) -> Reliability:
    """Bin records by their probability, equally many in each; equal probabilities stay in their order."""
    parts = [part for part in np.array_split(np.argsort(p_M, kind="stable"), bins) if len(part)]
    means = [(p_M[part].mean(), y_M[part].mean()) for part in parts]
    predicted_N, observed_N = np.array(means).T
    return Reliability(predicted_N, observed_N, np.array([len(part) for part in parts]))


def expected_calibration_error(y_M: NDArray[np.floating], p_M: Floats, bins: int = BINS) -> float:
    """The mean gap of `reliability` between what was said and what was, over records (Naeini et al. 2015).

    Example:
        >>> expected_calibration_error(np.array([0, 0, 1, 1]), np.array([0.1, 0.1, 0.8, 0.8]), bins=2)
        0.15
    """
    binned = reliability(y_M, p_M, bins)
    gap_N = np.abs(binned.predicted_N - binned.observed_N)
    return float(round((gap_N * binned.count_N).sum() / binned.count_N.sum(), 12))


def error_by_chance(p_M: Floats, bins: int = BINS) -> float:
    """The mean expected calibration error where every probability is true: so many records show no less."""
    y_RM = np.random.default_rng(0).random((DRAWS, len(p_M))) < p_M
    return float(np.mean([expected_calibration_error(y_M.astype(float), p_M, bins) for y_M in y_RM]))
