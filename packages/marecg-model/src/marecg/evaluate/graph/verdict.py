"""From scores to an answer: endpoints, differences with intervals, a permutation test over control graphs.

A unit is one base and one seed. Between arms all else is equal there, so differences are taken within units:
tables of units have a column per arm and a row per base and seed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from marecg.evaluate.graph.arms import EDGELESS, REAL, SHUFFLE
from marecg.evaluate.graph.experiment import LEFT_OUT

SIGMA = 0.5
"""Of the figures that no σ is chosen for."""
KEY = ["arm", "base", "seed"]


class Interval(NamedTuple):
    """A mean difference, and how far it reaches each way at 95 %: over units, and over bases."""

    mean: float
    over_units: float
    over_bases: float


def at_mark(scores: pd.DataFrame) -> pd.DataFrame:
    """Of each regime the step at which held-out records are learnt best, on average over all graph arms.

    A regime that knows nothing of that has one step alone.
    """
    closed = scores[scores["metric"] == "closed"].groupby(["regime", "step"])["value"].mean()
    marks = {regime: shares.idxmax()[1] for regime, shares in closed.groupby("regime")}
    return scores[scores["step"] == scores["regime"].map(marks).fillna(scores["step"])]


def leaves_of(regime: str, leaves: pd.DataFrame) -> list[str]:
    """The leaves of a regime's endpoint: the rare ones, or those that it left out."""
    tested = leaves[leaves["tested"]]
    chosen = tested["of"].isin(LEFT_OUT) if regime == "left-out" else tested["rare"]
    return [str(leaf) for leaf in tested.loc[chosen, "of"]]


def primary(scores: pd.DataFrame, leaves: Sequence[str]) -> pd.DataFrame:
    """Macro AUC over leaves, each arm's σ chosen on every second one and scored on the rest, both ways."""
    auc = scores[scores["metric"] == "auc"].fillna({"sigma": 0.0})
    by = [*KEY, "sigma"]
    halves = [auc[auc["of"].isin(leaves[half::2])].groupby(by)["value"].mean() for half in (0, 1)]
    scored_halves = []
    for choosing, scoring in (halves, halves[::-1]):
        best = choosing.groupby(["arm", "sigma"]).mean().groupby("arm").idxmax()
        of_arm = scoring.reset_index().set_index(["arm", "sigma"]).loc[list(best)]
        scored_halves.append(of_arm.reset_index().pivot_table("value", ["base", "seed"], "arm"))
    weight = len(leaves[1::2]) / len(leaves)  # the scored half of the first choice
    units: pd.DataFrame = weight * scored_halves[0] + (1 - weight) * scored_halves[1]
    return units


def fixed(
    scores: pd.DataFrame, metric: str, of: Sequence[str] | None = None, sigma: float = SIGMA
) -> pd.DataFrame:
    """A figure at one σ, the mean over the leaves that are named.

    Args:
        sigma: of the arms that have one.
    """
    chosen = scores[(scores["metric"] == metric) & scores["sigma"].fillna(sigma).eq(sigma)]
    chosen = chosen if of is None else chosen[chosen["of"].isin(of)]
    units: pd.DataFrame = chosen.pivot_table("value", ["base", "seed"], "arm")
    return units


def secondary(scores: pd.DataFrame, leaves: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every other endpoint of a regime by its name, as far as there is such a leaf."""
    tested = leaves[leaves["tested"]]
    rhythm, count = tested["family"].eq("Rhythm"), tested["teaching"]
    groups = {
        "all leaves": count >= 0,
        "0–5 records": count <= 5,
        "6–40 records": count.between(6, 40),
        "more records": count > 40,
        "rhythm": rhythm,
        "not rhythm": ~rhythm,
    }
    for name, group in groups.items():
        if group.any():
            yield name, fixed(scores, "auc", tested.loc[group, "of"].tolist())
    for metric in ("severity", "nDCG@10"):
        if scores["metric"].eq(metric).any():
            yield metric, fixed(scores, metric)


def with_shuffles(units: pd.DataFrame) -> pd.DataFrame:
    """The same, and the mean of the shuffles as an arm."""
    return units.assign(shuffles=units[_shuffles(units)].mean(axis=1))


def difference(units: pd.DataFrame, arm: str, other: str) -> Interval:
    """One arm minus another, paired."""
    paired = with_shuffles(units)[arm] - with_shuffles(units)[other]
    by_base = paired.groupby("base").mean()
    return Interval(float(by_base.mean()), _reach(paired), _reach(by_base))


def permutation(units: pd.DataFrame, *, lower_is_better: bool = False) -> float:
    """P of the real graph among its shuffles: (1 + shuffles as good or better) / (1 + shuffles)."""
    means = units.mean() * (-1 if lower_is_better else 1)
    others = means[_shuffles(units)]
    return float((1 + (others >= means[REAL]).sum()) / (1 + len(others)))


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm 1979).

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    steps = np.array(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(value) for value in adjusted]


def spread(units: pd.DataFrame) -> dict[str, float]:
    """Standard deviations of random effects: of real minus edgeless by base and seed, and of the shuffles."""
    by_base = (units[REAL] - units[EDGELESS]).groupby("base")
    seed, means = by_base.var().mean(), by_base.mean()
    shuffles = units[_shuffles(units)]
    noise = shuffles.sub(shuffles.mean(axis=1), axis=0).var().mean() / len(shuffles)
    variances = {
        "base": means.var() - seed / by_base.size().mean(),
        "seed": seed,
        "shuffle": shuffles.mean().var() - noise,
    }
    return {name: float(np.sqrt(np.maximum(value, 0))) for name, value in variances.items()}


def null(units: pd.DataFrame) -> float:
    """How far an arm's first half of seeds is from its other half, on average: nothing but chance."""
    seed = units.index.get_level_values("seed")
    half = seed < (seed.max() + 1) / 2
    return float((units[half].mean() - units[~half].mean()).abs().mean())


def resampled(scores: pd.DataFrame) -> tuple[float, float]:
    """95 % of real minus edgeless over resamples of the test records, the mean over units, at `SIGMA`."""
    rows = scores[(scores["metric"] == "resampled") & scores["sigma"].fillna(SIGMA).eq(SIGMA)]
    drawn = rows.pivot_table("value", "of", "arm")
    low, high = np.percentile(drawn[REAL] - drawn[EDGELESS], (2.5, 97.5))
    return float(low), float(high)


def _shuffles(units: pd.DataFrame) -> list[str]:
    return [arm for arm in units if arm.startswith(f"{SHUFFLE} ")]


def _reach(values: pd.Series) -> float:
    """Half of the 95 % t interval of a mean."""
    count = len(values)
    return float(student.ppf(0.975, count - 1) * values.std(ddof=1) / count**0.5) if count > 1 else np.nan
