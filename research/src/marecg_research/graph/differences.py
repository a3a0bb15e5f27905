"""Compute differences between arms, with their uncertainty over bases, seeds, leaves and shuffles.

An arm is a training with a certain graph. A shuffle is an arm whose graph has permuted leaves. A base is an
encoder. A unit is a base with a seed. Each base has the same seeds, and so the same draws. Within a unit,
arms differ only in the graph, so differences are computed within units. A table of units has a row per unit
and a column per arm.

Shapes: B bases, S seeds, V independent values.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from marecg_research.graph.arms import REAL, SHUFFLE


class Crossed(NamedTuple):
    """Mean over bases and seeds, with its 95 % interval and components of variance.

    Attributes:
        mean: the mean.
        reach: half the width of the interval.
        df: degrees of freedom.
        base, seed, residual: components of variance. An estimate may be negative. It then counts as zero in
            the interval.
    """

    mean: float
    reach: float
    df: float
    base: float
    seed: float
    residual: float


def crossed(values: "pd.Series[float]") -> Crossed:
    """Return the mean over bases and seeds as crossed random effects (Satterthwaite's degrees of freedom).

    With a single base or a single seed, the interval is only over the other factor. Seeds that a base lacks
    are left out.
    """
    table_BS = values.unstack("seed").dropna(axis=1).to_numpy()
    bases, seeds = table_BS.shape
    mean = float(table_BS.mean()) if table_BS.size else np.nan
    if min(bases, seeds) < 2:
        count = max(bases, seeds)
        variance = float(table_BS.var(ddof=1)) if table_BS.size > 1 else np.nan
        parts = (np.nan, variance) if bases < 2 else (variance, np.nan)
        return Crossed(mean, _reach(variance / max(count, 1), count - 1), count - 1, *parts, np.nan)
    by_base_B, by_seed_S = table_BS.mean(1), table_BS.mean(0)
    rest_BS = table_BS - by_base_B[:, None] - by_seed_S + mean
    df = np.array([bases - 1, seeds - 1, (bases - 1) * (seeds - 1)])
    squares = np.array(
        [seeds * by_base_B.var(ddof=1), bases * by_seed_S.var(ddof=1), (rest_BS**2).sum() / df[2]]
    )
    base, seed = (squares[0] - squares[2]) / seeds, (squares[1] - squares[2]) / bases
    if base > 0 and seed > 0:
        terms = squares * [1, 1, -1]
    elif base > 0 or seed > 0:
        terms = squares * [base > 0, seed > 0, 0]
    else:
        terms = squares * [0, 0, 1]
    total = terms.sum()
    freedom = total**2 / (terms**2 / df).sum() if total > 0 else df[2]
    reach = _reach(total / (bases * seeds), freedom)
    return Crossed(mean, reach, float(freedom), float(base), float(seed), float(squares[2]))


def _reach(variance: float, df: float) -> float:
    """Return half the width of the 95 % t interval of a mean."""
    return float(student.ppf(0.975, df) * variance**0.5) if df > 0 else np.nan


def over(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of independent values, and half the width of its 95 % t interval."""
    value_V = np.asarray(values, float)
    count = len(value_V)
    if not count:
        return np.nan, np.nan
    return float(value_V.mean()), _reach(value_V.var(ddof=1) / count if count > 1 else np.nan, count - 1)


def shuffles(table: pd.DataFrame) -> list[str]:
    """Return the names of the arms with shuffled graphs."""
    return [arm for arm in table if arm.startswith(f"{SHUFFLE} ")]


def with_means(table: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `shuffles` and `random families`, which are the means over the arms of this type."""
    table = table.copy()
    random = [arm for arm in table if arm.startswith("random families ")]
    for name, members in (("shuffles", shuffles(table)), ("random families", random)):
        if members:
            table[name] = table[members].mean(axis=1)
    return table


def difference(table: pd.DataFrame, arm: str, other: str) -> Crossed:
    """Return the paired difference of two arms. An arm may be a column of `with_means`."""
    means = with_means(table)
    return crossed(means[arm] - means[other])


def permutation(table: pd.DataFrame, *, lower_is_better: bool = False) -> float:
    """Return the p-value of the real graph among the shuffles.

    p = (1 + number of shuffles that are at least as good) / (1 + number of shuffles).
    """
    means = table.mean() * (-1 if lower_is_better else 1)
    shuffled = means[shuffles(table)]
    return float((1 + (shuffled >= means[REAL]).sum()) / (1 + len(shuffled)))


def holm(p: Sequence[float]) -> list[float]:
    """Return adjusted p-values (Holm 1979).

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    steps = np.array(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(value) for value in adjusted]


def signed(mean: float, reach: float) -> list[str]:
    """Format a difference, and half the width of its interval, as two cells of a table."""
    return [f"{mean:+.2f}", f"{reach:.2f}"]
