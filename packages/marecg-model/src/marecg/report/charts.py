"""Matplotlib charts as SVG for a page, in colours that follow its dark mode and print.

Shapes: L points of a curve, N concepts, M test records.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from ecg_ontology.views.figures import inline_svg
from marecg.report.svg import ACCENT

STYLE: Any = {
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.alpha": 0.18,
    "legend.fontsize": 9,
    "grid.color": "black",
}
NAMED = 10
"""Maximum number of lines that a chart names."""
BINS = 240
"""Maximum number of points of a curve. A point of a longer curve is the mean of a stretch, with its range."""


@contextmanager
def canvas(width: float, height: float) -> Iterator[Axes]:
    """Yield axes of a size in inches in the charts' style. Call `svg` inside the block."""
    with mpl.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained").subplots()


def svg(axes: Axes, label: str) -> Markup:
    """Return the chart for a page, with a label for screen readers."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return Markup(inline_svg(figure, label))  # noqa: S704 (drawn here)


def curve(step_L: ArrayLike, value_L: ArrayLike, name: str) -> Markup:
    """Draw a column of metrics.csv against the step."""
    at, mean, least, most = _binned(np.asarray(step_L, np.float64), np.asarray(value_L, np.float64))
    with canvas(3, 1.7) as axes:
        axes.fill_between(at, least, most, color=ACCENT, alpha=0.2, linewidth=0)
        axes.plot(at, mean, color=ACCENT, linewidth=1.2)
        axes.set_title(name)
        axes.grid(axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        return svg(axes, f"{name} against the optimiser step")


def matrix(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    *,
    axes_names: tuple[str, str] = ("", ""),
    percent: bool = False,
) -> Markup:
    """Draw a table of values, darker for higher values. With `percent`, cells show values from 1 % on."""
    values = np.asarray(values, np.float64)
    low, high = (0.0, 1.0) if percent else (float(values.min()), float(values.max()))
    side = 0.3 if percent else 0.16
    left, below = (0.8 + 0.06 * max(map(len, names)) for names in (rows, columns))
    with canvas(max(3, left + side * len(columns)), max(3, below + side * len(rows))) as axes:
        axes.imshow(values, cmap="Blues", vmin=low, vmax=high, interpolation="none")
        size = 8 if percent else 6
        axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=size)
        axes.set_yticks(range(len(rows)), rows, fontsize=size)
        axes.tick_params(length=0)
        axes.set(xlabel=axes_names[1], ylabel=axes_names[0])
        axes.set_title(title if percent else f"{title}: from {low:.2f} (pale) to {high:.2f}")
        for (row, column), value in np.ndenumerate(values) if percent else ():
            if value >= 0.005:
                colour = "#fefefe" if value > 0.6 else "#111111"  # cells have the same blue in dark mode
                axes.text(
                    column, row, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=7
                )
        return svg(axes, title)


def by_share(lines: Mapping[str, Sequence[tuple[str, float, float, float]]], title: str) -> Markup:
    """Draw macro AUC in percent by share of training records, with a line per name."""
    shares = list(dict.fromkeys(share for points in lines.values() for share, *_ in points))
    with canvas(4, 3.2 + 0.1 * len(lines)) as axes:
        for number, (name, points) in enumerate(lines.items()):
            shift = 0.5 * (number + 0.5) / len(lines) - 0.25  # so that intervals don't overlap
            x = [shares.index(share) + shift for share, *_ in points]
            mean, low, high = np.array([values for _, *values in points]).T
            (line,) = axes.plot(x, mean, "o-", ms=3, lw=1, label=name)
            axes.vlines(x, low, high, color=line.get_color(), lw=0.8)
        axes.set_xticks(range(len(shares)), shares)
        axes.set_xlim(-0.5, len(shares) - 0.5)
        axes.grid(axis="y")
        axes.set_title(title)
        legend(axes)
        return svg(axes, title)


def legend(axes: Axes) -> None:
    """Draw a legend of a few lines below the axes."""
    handles, names = axes.get_legend_handles_labels()
    if 1 < len(names) <= NAMED:
        axes.figure.legend(handles, names, loc="outside lower left", ncols=2)


def square(axes: Axes, x: str, y: str) -> None:
    """Set both axes from 0 to 1."""
    axes.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")


def points(x_M2: ArrayLike, names: Sequence[str], colour_of: Mapping[str, str], label: str) -> Markup:
    """Draw a map of records, coloured by name, without axes."""
    x_M2, labels = np.asarray(x_M2, np.float64), np.array(names)
    with canvas(5, 4) as axes:
        for name, colour in colour_of.items():
            if (labels == name).any():
                axes.plot(*x_M2[labels == name].T, "o", ms=4, mew=0, alpha=0.8, color=colour, label=name)
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
        legend(axes)
        return svg(axes, label)


def _binned(step: NDArray[np.float64], value: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return step, mean, least and most of at most BINS stretches; NaN without finite values."""
    edges = np.linspace(0, len(step), min(BINS, len(step)) + 1).astype(int)
    binned = []
    for start, stop in pairwise(edges):
        inside = value[start:stop][np.isfinite(value[start:stop])]
        bounds = (inside.mean(), inside.min(), inside.max()) if len(inside) else (np.nan,) * 3
        binned.append((step[start:stop].mean(), *bounds))
    return tuple(np.array(binned).T)
