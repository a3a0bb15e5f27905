"""From scores to an answer: endpoints, differences with intervals, a permutation test, a table and a plot.

A unit is one base and one seed. Between arms all else is equal there, so differences are taken within units:
tables of units have a column per arm and a row per base and seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.stats import t as student

from ecg_ontology import replacing
from marecg.evaluate.graph.experiment import LEFT_OUT
from marecg.evaluate.graph.records import EDGELESS, LABELS, NONE, REAL, SHUFFLE

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
    """A figure at one σ, of the arms that have one: the mean over the leaves that are named."""
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


ARMS = (REAL, "shuffles", "target only", "Â only", "flat", "no siblings", LABELS, NONE, EDGELESS)
ACCENT = "#2f6fb3"


def write_answer(scores: pd.DataFrame, leaves: pd.DataFrame, out: Path) -> str:
    """Write `table.md` and `forest.svg` into a folder; returns the table."""
    by_regime = {
        str(regime): rows
        for regime, rows in at_mark(scores).groupby("regime", sort=False)
        if len(leaves_of(str(regime), leaves)) > 1
    }
    units = {regime: primary(rows, leaves_of(regime, leaves)) for regime, rows in by_regime.items()}
    sections = (_section(regime, rows, units[regime], leaves) for regime, rows in by_regime.items())
    text = "\n".join(line for section in sections for line in section).replace(
        "nan", "–"
    )  # of one base or seed
    for name, content in (("table.md", text), ("forest.svg", _forest(units))):
        with replacing(out / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    return text


def _section(regime: str, rows: pd.DataFrame, units: pd.DataFrame, leaves: pd.DataFrame) -> Iterator[str]:
    closed = rows[(rows["metric"] == "closed") & (rows["arm"] == REAL)].groupby("sigma")["value"].mean()
    shares = ", ".join(f"{100 * share:.0f} % at σ {sigma:g}" for sigma, share in closed.items())
    sigmas = rows.loc[rows["arm"] == REAL, "sigma"].unique()
    sds = ", ".join(f"{name} {sd:.2f}" for name, sd in spread(units).items() if pd.notna(sd))
    bases, seeds = (len(units.index.unique(level)) for level in ("base", "seed"))
    means = with_shuffles(units).mean()
    yield f"### {regime}: {_plural(bases, 'base')} × {_plural(seeds, 'seed')}, step {rows['step'].iloc[0]}\n"
    if shares:
        yield f"Closed on held-out records: {shares}.\n"
    yield f"Macro AUC: {', '.join(f'{arm} {means[arm]:.1f}' for arm in ARMS if arm in means)}.\n"
    yield f"Real among the shuffles: p = {permutation(units):.3f}."
    yield f"SD by {sds}; half of the seeds against half {null(units):.2f}.\n" if sds else ""
    yield from _table("difference", "points", "± over units", "± over bases")
    for arm, other in _contrasts(units):
        mean, over_units, over_bases = difference(units, arm, other)
        yield f"| {arm} − {other} | {mean:+.2f} | {over_units:.2f} | {over_bases:.2f} |"
    if regime != "left-out":
        low, high = resampled(rows)
        yield f"\nReal − edgeless, resampled test records, σ {SIGMA:g}: {low:+.2f} to {high:+.2f}."
    yield ""
    yield from _table("fixed σ", "real", "− shuffles", "p", "− edgeless", "± over units")
    for sigma in sigmas:
        of = fixed(rows, "auc", leaves_of(regime, leaves), sigma)
        yield f"| {sigma:g} | {_against(of)} |"
    others = list(secondary(rows, leaves))
    p = [permutation(of, lower_is_better=name == "severity") for name, of in others]
    yield ""
    yield from _table(f"endpoint, σ {SIGMA:g}", "real", "− shuffles", "p, Holm", "− edgeless", "± units")
    for (name, of), adjusted in zip(others, holm(p), strict=True):
        yield f"| {name} | {_against(of, adjusted)} |"
    yield ""


def _plural(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


def _against(units: pd.DataFrame, p: float | None = None) -> str:
    """The real graph, what it has over shuffles and over no graph, and p among the shuffles unless given."""
    shuffled, none = (difference(units, REAL, other) for other in ("shuffles", EDGELESS))
    p = permutation(units) if p is None else p
    own = f"{units[REAL].mean():.2f} | {shuffled.mean:+.2f} | {p:.3f}"
    return f"{own} | {none.mean:+.2f} | {none.over_units:.2f}"


def _contrasts(units: pd.DataFrame) -> list[tuple[str, str]]:
    """The real graph against its shuffles, and every arm that there is against no graph."""
    named = with_shuffles(units)
    return [(REAL, "shuffles"), *((arm, EDGELESS) for arm in ARMS[:-1] if arm in named)]


def _table(first: str, *others: str) -> Iterator[str]:
    yield f"| {' | '.join((first, *others))} |"
    yield f"| --- |{' ---: |' * len(others)}"


def _forest(units: Mapping[str, pd.DataFrame]) -> str:
    """Every difference with both intervals, a panel per regime; ticks are single shuffles."""
    figure = Figure(figsize=(8, 1 + 2.2 * len(units)), layout="constrained")
    panels = figure.subplots(len(units), squeeze=False, sharex=True)[:, 0]
    for axes, (regime, of) in zip(panels, units.items(), strict=True):
        shuffles = of.filter(regex="^shuffle ").mean() - of[EDGELESS].mean()
        contrasts = _contrasts(of)
        for place, (arm, other) in enumerate(contrasts):
            mean, over_units, over_bases = difference(of, arm, other)
            axes.errorbar(mean, -place, xerr=over_bases, color="0.7", capsize=2)
            axes.errorbar(
                mean, -place, xerr=over_units, color=ACCENT, marker="o", markersize=4, linewidth=2.5
            )
            if arm == "shuffles":
                axes.plot(shuffles, [-place] * len(shuffles), "|", color="0.4")
        axes.set_yticks([-place for place in range(len(contrasts))], [f"{a} − {b}" for a, b in contrasts])
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set_title(regime, loc="left", fontsize=10)
    panels[-1].set_xlabel("points of zero-shot macro AUC; thick: over bases × seeds, thin: over bases")
    with rc_context({"svg.hashsalt": "marecg", "svg.fonttype": "none"}):
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
