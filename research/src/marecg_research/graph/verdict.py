"""Write the results of the experiment: tables and a plot of the differences between arms.

An arm is a training with a certain graph: the real graph, a shuffle (a graph with permuted leaves), a part of
the real graph, or no edges (`edgeless`). A leaf is a finding of the graph. A base is an encoder.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from ecg_base import write_text
from marecg.base.markdown import table as markdown_table
from marecg_research.graph.arms import (
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
from marecg_research.graph.differences import (
    Crossed,
    difference,
    holm,
    over,
    permutation,
    shuffles,
    signed,
    with_means,
)
from marecg_research.graph.endpoints import (
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
from marecg_research.graph.further import further_sections

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
"""Further pairs of arms to compare.

Each arm is also compared with `edgeless`, and the real graph with the shuffles.
"""
FLOOR, LEFT_OUT = "floor", "left-out"
ACCENT = "#2f6fb3"


def leaf_differences(
    frame: pd.DataFrame, leaves: Sequence[str], arm: str, other: str, sigma: float | dict[str, float]
) -> list[float]:
    """Return the difference of two arms for each leaf, averaged over bases and seeds.

    `sigma` is a common σ, or a σ for each arm.
    """
    tables = (units(frame, f"{LEAF}{leaf}", sigma) for leaf in leaves)
    return [float((table[arm] - table[other]).mean()) for table in tables if {arm, other} <= set(table)]


def write_answer(frame: pd.DataFrame, leaves: Mapping[str, Sequence[str]], out: Path) -> str:
    """Write `table.md` and `forest.svg` into a folder, and return the table.

    Args:
        frame: endpoints.
        leaves: leaves of each regime's primary endpoint.
        out: the folder.
    """
    separate = (FLOOR, IN_TURN)
    regimes = [
        name
        for name in frame["regime"].unique()
        if name not in separate and not name.startswith(FEW_K) and len(leaves.get(name, ())) > 1
    ]
    parts = {name: frame[frame["regime"] == name] for name in regimes}
    floor = frame[frame["regime"] == FLOOR]
    lines = [line for name, part in parts.items() for line in _section(name, part, floor, leaves[name])]
    lines += further_sections(frame)
    text = "\n".join(lines).replace("nan", "–")  # with a single base or seed, some variances are NaN
    contents = {"table.md": text} | ({"forest.svg": _forest(parts)} if parts else {})
    for name, content in contents.items():
        write_text(out / name, content)
    return text


def _section(regime: str, frame: pd.DataFrame, floor: pd.DataFrame, leaves: Sequence[str]) -> Iterator[str]:
    sigmas = chosen_sigmas(frame)
    chosen = units(frame, PRIMARY, sigmas or SIGMA)
    bases, seeds = (len(chosen.index.unique(level)) for level in ("base", "seed"))
    sizes = f"{_plural(bases, 'base')} × {_plural(seeds, 'seed')}, {_plural(len(leaves), 'leaf')}"
    yield f"### {regime}: {sizes}\n"
    if len(closed := frame[frame["endpoint"].eq(CLOSED) & frame["arm"].eq(REAL)]):
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
    heads = ["difference, σ chosen", "points", "± over bases and seeds", "df", "variance: base, seed, rest"]
    yield from markdown_table([*heads, *columns], [_row(chosen, *pair) for pair in pairs])
    yield ""
    of_pair = {pair: leaf_differences(frame, leaves, *pair, sigmas or SIGMA) for pair in pairs}
    yield from markdown_table(
        ["over leaves, σ chosen", "points", "± over leaves", "leaves"],
        [[" − ".join(pair), *signed(*over(of)), len(of)] for pair, of in of_pair.items() if len(of) > 1],
    )
    drawn = frame.loc[frame["endpoint"] == RESAMPLED, "value"]
    if len(drawn) and regime != LEFT_OUT:
        low, high = np.percentile(drawn.astype(float), (2.5, 97.5))
        yield f"\nReal − edgeless over resamples of the test records, σ {SIGMA:g}: {low:+.2f} to {high:+.2f}."
    yield ""
    yield from markdown_table(
        ["fixed σ", "real", "− shuffles", "p", "− edgeless", "±"],
        [[f"{sigma:g}", *_against(units(frame, PRIMARY, sigma))] for sigma in _real_sigmas(frame)],
    )
    yield ""
    yield from _secondary(frame, floor if regime == "all" else floor.iloc[:0])
    if (frame["endpoint"].eq(WITHIN) & frame["arm"].eq(INFERENCE_ONLY)).any():
        yield from _inside(frame)


def _secondary(frame: pd.DataFrame, floor: pd.DataFrame) -> Iterator[str]:
    """Yield the table of secondary endpoints, with p-values corrected by Holm's method.

    `floor` has the endpoints of many shuffles, from which p-values are computed. If `floor` is empty, they
    are computed from the shuffles in `frame`.
    """
    tables = {name: units(frame, name) for name in SECONDARY if frame["endpoint"].eq(name).any()}
    with_shuffles = {name: units(floor, name) if len(floor) else table for name, table in tables.items()}
    p = [permutation(table, lower_is_better=name == LOWER_IS_BETTER) for name, table in with_shuffles.items()]
    count = len(shuffles(next(iter(with_shuffles.values()))))
    heads = [f"endpoint, σ {SIGMA:g}", "real", "− shuffles", f"p of {count}, Holm", "− edgeless", "±"]
    rows = []
    for (name, table), adjusted in zip(tables.items(), holm(p), strict=True):
        family = difference(table, FAMILIES, EDGELESS) if FAMILIES in table else None
        cells = signed(family.mean, family.reach) if family else ["–", "–"]
        rows.append([name, *_against(table, adjusted), *cells])
    yield from markdown_table([*heads, "families − edgeless", "±"], rows)
    yield ""


def _inside(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the table of the AUC within families: among the records with a leaf of the same family."""
    rows = []
    for sigma in _real_sigmas(frame):
        table = units(frame, WITHIN, sigma)
        against = difference(table, REAL, EDGELESS)
        means = [f"{table[arm].mean():.1f}" for arm in (REAL, INFERENCE_ONLY, EDGELESS)]
        rows.append([f"σ {sigma:g}", *means, *signed(against.mean, against.reach)])
    yield from markdown_table(
        ["within families", "real", "inference only", "edgeless", "real − edgeless", "±"], rows
    )
    yield ""


def _real_sigmas(frame: pd.DataFrame) -> list[float]:
    return sorted(map(float, frame.loc[frame["arm"] == REAL, "sigma"].dropna().unique()))


def _row(table: pd.DataFrame, arm: str, other: str) -> list[str]:
    """Return the cells of a difference: over all bases, and for each base."""
    of = difference(table, arm, other)
    parts = ", ".join(f"{value:.2f}" for value in (of.base, of.seed, of.residual))
    bases = table.index.unique("base")
    single = [difference(table.loc[[base]], arm, other) for base in bases] if len(bases) > 1 else []
    return [f"{arm} − {other}", *signed(of.mean, of.reach), f"{of.df:.1f}", parts, *map(_points, single)]


def _points(of: Crossed) -> str:
    return f"{of.mean:+.2f} ± {of.reach:.2f}"


def _shuffled_sigmas(sigmas: Mapping[str, float]) -> str:
    of = [sigma for arm, sigma in sigmas.items() if arm.startswith("shuffle ")]
    return "shuffles " + ", ".join(f"{sigma:g} × {of.count(sigma)}" for sigma in sorted(set(of)))


def _plural(count: int, name: str) -> str:
    plural = "leaves" if name == "leaf" else f"{name}s"
    return f"{count} {name if count == 1 else plural}"


def _against(table: pd.DataFrame, p: float | None = None) -> list[str]:
    """Return cells on the real graph: its value, its differences from shuffles and no graph, and p.

    If `p` is None, it is computed from the shuffles in the table.
    """
    shuffled, none = (difference(table, REAL, other) for other in ("shuffles", EDGELESS))
    p = permutation(table) if p is None else p
    gains = [f"{shuffled.mean:+.2f}", f"{p:.3f}", *signed(none.mean, none.reach)]
    return [f"{table[REAL].mean():.2f}", *gains]


def _contrasts(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the pairs of arms to compare, if both are in the table."""
    means = with_means(table)
    pairs = [(REAL, "shuffles"), *((arm, EDGELESS) for arm in ARMS[:-1]), *PAIRS]
    return [(arm, other) for arm, other in pairs if {arm, other} <= set(means)]


def _forest(parts: Mapping[str, pd.DataFrame]) -> str:
    """Draw all differences with intervals as SVG, with a panel per regime. Each tick is a single shuffle."""
    tables = {regime: units(frame, PRIMARY, chosen_sigmas(frame) or SIGMA) for regime, frame in parts.items()}
    figure = Figure(figsize=(8, 1 + 3.2 * len(tables)), layout="constrained")
    panels = figure.subplots(len(tables), squeeze=False, sharex=True)[:, 0]
    for axes, (regime, table) in zip(panels, tables.items(), strict=True):
        singles = table[shuffles(table)].mean() - table[EDGELESS].mean()
        contrasts = _contrasts(table)
        for row, (arm, other) in enumerate(contrasts):
            of = difference(table, arm, other)
            axes.errorbar(of.mean, -row, xerr=of.reach, color=ACCENT, marker="o", markersize=4, capsize=2)
            if arm == "shuffles":
                axes.plot(singles, [-row] * len(singles), "|", color="0.4")
        axes.set_yticks([-row for row in range(len(contrasts))], [f"{a} − {b}" for a, b in contrasts])
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set_title(regime, loc="left", fontsize=10)
        axes.tick_params(labelbottom=True)
        axes.grid(axis="x", color="0.9")
        axes.set_xlabel("← second is better | points of zero-shot macro AUC | first is better →")
    with rc_context({"svg.hashsalt": "marecg", "svg.fonttype": "none"}):
        file = StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
