"""Draw Matplotlib charts as SVG for a page. Their colours adapt to dark mode and to print.

Shapes: L points of a curve, M records.
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
"""Maximum number of lines in a chart's legend. A chart with more lines has no legend."""
BINS = 240
"""Maximum number of points of a curve. In a longer curve, a point is the mean of several values."""


@contextmanager
def canvas(width: float, height: float) -> Iterator[Axes]:
    """Yield axes in the charts' style, with a size in inches. Call `svg` inside the block."""
    with mpl.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained").subplots()


def svg(axes: Axes, label: str) -> Markup:
    """Return the chart as SVG, with a label for screen readers."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return Markup(inline_svg(figure, label))  # noqa: S704 (drawn here)


def curve(step_L: ArrayLike, value_L: ArrayLike, name: str) -> Markup:
    """Draw values, for example a loss from metrics.csv, against the training step. `name` is the title."""
    step, mean, least, most = _binned(np.asarray(step_L, np.float64), np.asarray(value_L, np.float64))
    with canvas(3, 1.7) as axes:
        axes.fill_between(step, least, most, color=ACCENT, alpha=0.2, linewidth=0)
        axes.plot(step, mean, color=ACCENT, linewidth=1.2)
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
    """Draw a matrix as coloured cells. Higher values are darker.

    With `percent`, the values are shares, and cells show them in percent if they are at least 0.5 %.
    `axes_names` are the labels of the axis of rows and of the axis of columns.
    """
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
                colour = "#fefefe" if value > 0.6 else "#111111"  # the cells are the same in dark mode
                axes.text(
                    column, row, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=7
                )
        return svg(axes, title)


def by_share(lines: Mapping[str, Sequence[tuple[str, float, float, float]]], title: str) -> Markup:
    """Draw macro AUC with its interval against the share of training records.

    Args:
        lines: for each line, its points: share, macro AUC, and low and high end of the interval.
        title: title of the chart.
    """
    shares = list(dict.fromkeys(share for points in lines.values() for share, *_ in points))
    with canvas(4, 3.2 + 0.1 * len(lines)) as axes:
        for number, (name, points) in enumerate(lines.items()):
            shift = 0.5 * (number + 0.5) / len(lines) - 0.25  # without it, intervals would overlap
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
    """Draw a legend below the axes if it has 2 to `NAMED` entries."""
    handles, names = axes.get_legend_handles_labels()
    if 1 < len(names) <= NAMED:
        axes.figure.legend(handles, names, loc="outside lower left", ncols=2)


def square(axes: Axes, x: str, y: str) -> None:
    """Let both axes run from 0 to 1, and label them with `x` and `y`."""
    axes.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")


def points(x_M2: ArrayLike, names: Sequence[str], colour_of: Mapping[str, str], label: str) -> Markup:
    """Draw records as points on a map without axes, for example coloured by family.

    Args:
        x_M2: position of each record.
        names: name of the group of each record.
        colour_of: colour of each group.
        label: text for screen readers.
    """
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
    """Return the mean step, and the mean, minimum and maximum value, of at most `BINS` stretches of a curve.

    A stretch without finite values is NaN.
    """
    edges = np.linspace(0, len(step), min(BINS, len(step)) + 1).astype(int)
    binned = []
    for start, stop in pairwise(edges):
        inside = value[start:stop][np.isfinite(value[start:stop])]
        bounds = (inside.mean(), inside.min(), inside.max()) if len(inside) else (np.nan,) * 3
        binned.append((step[start:stop].mean(), *bounds))
    return tuple(np.array(binned).T)
