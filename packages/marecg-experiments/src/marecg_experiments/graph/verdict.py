"""Verdict: a table of differences between arms with intervals and tests, and its plot."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ecg_ontology import replacing
from marecg_experiments.graph.arms import (
    EDGELESS,
    FAMILIES,
    INFERENCE_ONLY,
    LABELS,
    LABELS_INFERENCE,
    LEAF_ONLY,
    NONE,
    RANDOM_FAMILIES,
    REAL,
)
from marecg_experiments.graph.differences import (
    Crossed,
    difference,
    holm,
    over,
    permutation,
    shuffles,
    with_means,
)
from marecg_experiments.graph.endpoints import (
    CLOSED,
    FEW_K,
    IN_TURN,
    LEAF,
    LOWER_IS_BETTER,
    PRIMARY,
    RESAMPLED,
    SECONDARY,
    SIGMA,
    WITHIN,
    chosen_sigmas,
    units,
)
from marecg_experiments.graph.further import further_sections

ARMS = (
    REAL, "shuffles", "target only", "Â only", "flat", "no siblings", FAMILIES, RANDOM_FAMILIES, LEAF_ONLY,
    LABELS, LABELS_INFERENCE, INFERENCE_ONLY, NONE, EDGELESS,
)  # fmt: skip
PAIRS = (
    (REAL, INFERENCE_ONLY),
    (REAL, FAMILIES),
    (REAL, LEAF_ONLY),
    (FAMILIES, RANDOM_FAMILIES),
    (FAMILIES, LEAF_ONLY),
)
"""Besides each arm minus edgeless, and real minus shuffles."""
FLOOR, LEFT_OUT = "floor", "left-out"
ACCENT = "#2f6fb3"


def leaf_differences(
    kept: pd.DataFrame, leaves: Sequence[str], arm: str, other: str, sigma: float | dict[str, float]
) -> list[float]:
    """Return each leaf's difference of two arms, averaged over bases and seeds, at one σ or one per arm."""
    tables = (units(kept, f"{LEAF}{leaf}", sigma) for leaf in leaves)
    return [float((table[arm] - table[other]).mean()) for table in tables if {arm, other} <= set(table)]


def write_answer(kept: pd.DataFrame, leaves: Mapping[str, Sequence[str]], out: Path) -> str:
    """Write `table.md` into a folder, with `forest.svg` if a regime has seeds, and return the table.

    `leaves` names those of each regime's primary endpoint.
    """
    others = (FLOOR, IN_TURN)
    regimes = [
        name
        for name in kept["regime"].unique()
        if name not in others and not name.startswith(FEW_K) and len(leaves.get(name, ())) > 1
    ]
    parts = {name: kept[kept["regime"] == name] for name in regimes}
    floor = kept[kept["regime"] == FLOOR]
    lines = [line for name, part in parts.items() for line in _section(name, part, floor, leaves[name])]
    lines += further_sections(kept)
    text = "\n".join(lines).replace("nan", "–")  # of one base or seed
    contents = {"table.md": text} | ({"forest.svg": _forest(parts)} if parts else {})
    for name, content in contents.items():
        with replacing(out / name) as temporary:
            temporary.write_text(content, encoding="utf-8")
    return text


def _section(regime: str, kept: pd.DataFrame, floor: pd.DataFrame, leaves: Sequence[str]) -> Iterator[str]:
    sigmas = chosen_sigmas(kept)
    chosen = units(kept, PRIMARY, sigmas or SIGMA)
    bases, seeds = (len(chosen.index.unique(level)) for level in ("base", "seed"))
    sizes = f"{_plural(bases, 'base')} × {_plural(seeds, 'seed')}, {_plural(len(leaves), 'leaf')}"
    yield f"### {regime}: {sizes}\n"
    if len(closed := kept[kept["endpoint"].eq(CLOSED) & kept["arm"].eq(REAL)]):
        shares = closed.astype({"value": "float64"}).groupby("sigma")["value"].mean().items()
        closings = ", ".join(f"{100 * share:.0f} % at σ {sigma:g}" for sigma, share in shares)
        yield f"Closed on held-out records: {closings}.\n"
    if sigmas:
        sigma_text = f"real {sigmas[REAL]:g}, {_shuffled_sigmas(sigmas)}"
        yield f"**(a)** σ chosen on held-out source records: {sigma_text}."
        against = difference(chosen, REAL, "shuffles")
        yield (
            f"Real among {len(shuffles(chosen))} matched shuffles: p = {permutation(chosen):.3f}, "
            f"real − shuffles {_points(against)}.\n"
        )
    means = with_means(chosen).mean()
    yield f"Macro AUC at chosen σ: {', '.join(f'{arm} {means[arm]:.1f}' for arm in ARMS if arm in means)}.\n"
    pairs = _contrasts(chosen)
    columns = [f"base {base}" for base in chosen.index.unique("base")] if bases > 1 else []
    yield from _table(
        "difference, σ chosen",
        "points",
        "± over bases and seeds",
        "df",
        "variance: base, seed, rest",
        *columns,
    )
    for arm, other in pairs:
        yield _row(f"{arm} − {other}", chosen, arm, other)
    yield ""
    yield from _table("over leaves, σ chosen", "points", "± over leaves", "leaves")
    for arm, other in pairs:
        of = leaf_differences(kept, leaves, arm, other, sigmas or SIGMA)
        if len(of) > 1:
            mean, reach = over(of)
            yield f"| {arm} − {other} | {mean:+.2f} | {reach:.2f} | {len(of)} |"
    drawn = kept.loc[kept["endpoint"] == RESAMPLED, "value"]
    if len(drawn) and regime != LEFT_OUT:
        low, high = np.percentile(drawn.astype(float), (2.5, 97.5))
        yield f"\nReal − edgeless over resamples of the test records, σ {SIGMA:g}: {low:+.2f} to {high:+.2f}."
    yield ""
    yield from _table("fixed σ", "real", "− shuffles", "p", "− edgeless", "±")
    for sigma in sorted(kept.loc[kept["arm"] == REAL, "sigma"].dropna().unique()):
        yield f"| {sigma:g} | {_against(units(kept, PRIMARY, float(sigma)))} |"
    yield ""
    yield from _secondary(kept, floor if regime == "all" else floor.iloc[:0])
    if (kept["endpoint"].eq(WITHIN) & kept["arm"].eq(INFERENCE_ONLY)).any():
        yield from _inside(kept)


def _secondary(kept: pd.DataFrame, floor: pd.DataFrame) -> Iterator[str]:
    """The list under Holm: by the many shuffles of `floor` where there are some."""
    tables = {name: units(kept, name) for name in SECONDARY if kept["endpoint"].eq(name).any()}
    judged = {name: units(floor, name) if len(floor) else table for name, table in tables.items()}
    p = [permutation(table, lower_is_better=name == LOWER_IS_BETTER) for name, table in judged.items()]
    count = len(shuffles(next(iter(judged.values()))))
    yield from _table(
        f"endpoint, σ {SIGMA:g}",
        "real",
        "− shuffles",
        f"p of {count}, Holm",
        "− edgeless",
        "±",
        "families − edgeless",
        "±",
    )
    for (name, table), adjusted in zip(tables.items(), holm(p), strict=True):
        family = difference(table, FAMILIES, EDGELESS) if FAMILIES in table else None
        family_text = f"{family.mean:+.2f} | {family.reach:.2f}" if family else "– | –"
        yield f"| {name} | {_against(table, adjusted)} | {family_text} |"
    yield ""


def _inside(kept: pd.DataFrame) -> Iterator[str]:
    """AUC among the records with a leaf of the same family."""
    yield from _table("within families", "real", "inference only", "edgeless", "real − edgeless", "±")
    for sigma in sorted(kept.loc[kept["arm"] == REAL, "sigma"].dropna().unique()):
        table = units(kept, WITHIN, float(sigma))
        against = difference(table, REAL, EDGELESS)
        means = " | ".join(f"{table[arm].mean():.1f}" for arm in (REAL, INFERENCE_ONLY, EDGELESS))
        yield f"| σ {sigma:g} | {means} | {against.mean:+.2f} | {against.reach:.2f} |"
    yield ""


def _row(name: str, table: pd.DataFrame, arm: str, other: str) -> str:
    """A difference over all bases, and over each."""
    of = difference(table, arm, other)
    parts = ", ".join(f"{value:.2f}" for value in (of.base, of.seed, of.residual))
    bases = table.index.unique("base")
    single = [difference(table.loc[[base]], arm, other) for base in bases] if len(bases) > 1 else []
    cells = [f"{of.mean:+.2f}", f"{of.reach:.2f}", f"{of.df:.1f}", parts, *map(_points, single)]
    return f"| {name} | {' | '.join(cells)} |"


def _points(of: Crossed) -> str:
    return f"{of.mean:+.2f} ± {of.reach:.2f}"


def _shuffled_sigmas(sigmas: Mapping[str, float]) -> str:
    of = [sigma for arm, sigma in sigmas.items() if arm.startswith("shuffle ")]
    return "shuffles " + ", ".join(f"{sigma:g} × {of.count(sigma)}" for sigma in sorted(set(of)))


def _plural(count: int, name: str) -> str:
    plural = "leaves" if name == "leaf" else f"{name}s"
    return f"{count} {name if count == 1 else plural}"


def _against(table: pd.DataFrame, p: float | None = None) -> str:
    """The real graph, what it has over shuffles and over no graph, and p among the shuffles unless given."""
    shuffled, none = (difference(table, REAL, other) for other in ("shuffles", EDGELESS))
    p = permutation(table) if p is None else p
    return f"{table[REAL].mean():.2f} | {shuffled.mean:+.2f} | {p:.3f} | {none.mean:+.2f} | {none.reach:.2f}"


def _contrasts(table: pd.DataFrame) -> list[tuple[str, str]]:
    """The real graph against its shuffles, every arm that there is against no graph, and `PAIRS`."""
    means = with_means(table)
    pairs = [(REAL, "shuffles"), *((arm, EDGELESS) for arm in ARMS[:-1]), *PAIRS]
    return [(arm, other) for arm, other in pairs if {arm, other} <= set(means)]


def _table(first: str, *others: str) -> Iterator[str]:
    yield f"| {' | '.join((first, *others))} |"
    yield f"| --- |{' ---: |' * len(others)}"


def _forest(parts: Mapping[str, pd.DataFrame]) -> str:
    """Every difference with its interval, a panel per regime; ticks are single shuffles."""
    tables = {regime: units(kept, PRIMARY, chosen_sigmas(kept) or SIGMA) for regime, kept in parts.items()}
    figure = Figure(figsize=(8, 1 + 3.2 * len(tables)), layout="constrained")
    panels = figure.subplots(len(tables), squeeze=False, sharex=True)[:, 0]
    for axes, (regime, table) in zip(panels, tables.items(), strict=True):
        singles = table[shuffles(table)].mean() - table[EDGELESS].mean()
        contrasts = _contrasts(table)
        for place, (arm, other) in enumerate(contrasts):
            of = difference(table, arm, other)
            axes.errorbar(of.mean, -place, xerr=of.reach, color=ACCENT, marker="o", markersize=4, capsize=2)
            if arm == "shuffles":
                axes.plot(singles, [-place] * len(singles), "|", color="0.4")
        axes.set_yticks([-place for place in range(len(contrasts))], [f"{a} − {b}" for a, b in contrasts])
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set_title(regime, loc="left", fontsize=10)
    panels[-1].set_xlabel("points of zero-shot macro AUC, σ chosen; intervals over bases and seeds")
    with rc_context({"svg.hashsalt": "marecg", "svg.fonttype": "none"}):
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
