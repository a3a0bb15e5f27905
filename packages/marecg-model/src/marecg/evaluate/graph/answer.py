"""The answer as a table and a forest plot."""

from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ecg_ontology import replacing
from marecg.evaluate.graph import verdict
from marecg.evaluate.graph.arms import EDGELESS, LABELS, NONE, REAL

ARMS = (REAL, "shuffles", "target only", "Â only", "flat", "no siblings", LABELS, NONE, EDGELESS)
ACCENT = "#2f6fb3"


def write_answer(scores: pd.DataFrame, leaves: pd.DataFrame, out: Path) -> str:
    """Write `table.md` and `forest.svg` into a folder; returns the table."""
    by_regime = {
        str(regime): rows
        for regime, rows in verdict.at_mark(scores).groupby("regime", sort=False)
        if len(verdict.leaves_of(str(regime), leaves)) > 1
    }
    units = {
        regime: verdict.primary(rows, verdict.leaves_of(regime, leaves)) for regime, rows in by_regime.items()
    }
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
    spread = ", ".join(f"{name} {sd:.2f}" for name, sd in verdict.spread(units).items() if pd.notna(sd))
    bases, seeds = (len(units.index.unique(level)) for level in ("base", "seed"))
    means = verdict.with_shuffles(units).mean()
    yield f"### {regime}: {_plural(bases, 'base')} × {_plural(seeds, 'seed')}, step {rows['step'].iloc[0]}\n"
    if shares:
        yield f"Closed on held-out records: {shares}.\n"
    yield f"Macro AUC: {', '.join(f'{arm} {means[arm]:.1f}' for arm in ARMS if arm in means)}.\n"
    yield f"Real among the shuffles: p = {verdict.permutation(units):.3f}."
    yield f"SD by {spread}; half of the seeds against half {verdict.null(units):.2f}.\n" if spread else ""
    yield from _table("difference", "points", "± over units", "± over bases")
    for arm, other in _contrasts(units):
        mean, over_units, over_bases = verdict.difference(units, arm, other)
        yield f"| {arm} − {other} | {mean:+.2f} | {over_units:.2f} | {over_bases:.2f} |"
    if regime != "left-out":
        low, high = verdict.resampled(rows)
        yield f"\nReal − edgeless, resampled test records, σ {verdict.SIGMA:g}: {low:+.2f} to {high:+.2f}."
    yield ""
    yield from _table("fixed σ", "real", "− shuffles", "p", "− edgeless", "± over units")
    for sigma in sigmas:
        of = verdict.fixed(rows, "auc", verdict.leaves_of(regime, leaves), sigma)
        yield f"| {sigma:g} | {_against(of)} |"
    secondary = list(verdict.secondary(rows, leaves))
    p = [verdict.permutation(of, lower_is_better=name == "severity") for name, of in secondary]
    yield ""
    yield from _table(
        f"endpoint, σ {verdict.SIGMA:g}", "real", "− shuffles", "p, Holm", "− edgeless", "± units"
    )
    for (name, of), adjusted in zip(secondary, verdict.holm(p), strict=True):
        yield f"| {name} | {_against(of, adjusted)} |"
    yield ""


def _plural(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count != 1)}"


def _against(units: pd.DataFrame, p: float | None = None) -> str:
    """The real graph, what it has over shuffles and over no graph, and p among the shuffles unless given."""
    shuffled, none = (verdict.difference(units, REAL, other) for other in ("shuffles", EDGELESS))
    p = verdict.permutation(units) if p is None else p
    own = f"{units[REAL].mean():.2f} | {shuffled.mean:+.2f} | {p:.3f}"
    return f"{own} | {none.mean:+.2f} | {none.over_units:.2f}"


def _contrasts(units: pd.DataFrame) -> list[tuple[str, str]]:
    """The real graph against its shuffles, and every arm that there is against no graph."""
    named = verdict.with_shuffles(units)
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
            mean, over_units, over_bases = verdict.difference(of, arm, other)
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
