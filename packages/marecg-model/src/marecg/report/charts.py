"""Curves of a run, matrices of concepts, and intervals: the plain pictures of a report.

Shapes: L points of a curve, N concepts.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from marecg.report.svg import ACCENT, UNITS, cells, element, picture, polyline, words

BINS = 240
"""Points of a curve; of longer ones each is the mean of its stretch, with the range behind it."""
PANEL = (250.0, 130.0)
FRAME = (44.0, 22.0, 246.0, 108.0)
"""Left, top, right and bottom of a panel's axes."""


def curve(step_L: ArrayLike, value_L: ArrayLike, name: str) -> str:
    """One column of metrics.csv against the step."""
    left, top, right, bottom = FRAME
    step, value = np.asarray(step_L, np.float64), np.asarray(value_L, np.float64)
    known = value[np.isfinite(value)]
    ticks = _ticks(known.min(), known.max(), 3) if len(known) else np.array([0.0, 1.0])
    low, high = ticks[0], ticks[-1]
    at, mean, least, most = _binned(step, value)
    x = left + (right - left) * (at - step[0]) / max(step[-1] - step[0], 1)

    def y(values: NDArray[np.float64]) -> NDArray[np.float64]:
        placed: NDArray[np.float64] = bottom - (bottom - top) * (values - low) / (high - low)
        return placed

    band = polyline(np.concatenate([x, x[::-1]]), y(np.concatenate([least, most[::-1]])))
    line = polyline(x, y(mean))
    scaled = {"transform": f"scale({1 / UNITS:g})"}
    return picture(
        *PANEL,
        words(name, left, 13, 12, font_weight="600"),
        *_value_axis(ticks, y(ticks)),
        *_step_axis(step),
        element("path", d=band, fill=ACCENT, fill_opacity=0.2, **scaled),
        element("path", d=line, fill="none", stroke=ACCENT, stroke_width=1.4 * UNITS, **scaled),
        label=f"{name} against the optimiser step",
    )


def matrix(values_NN: ArrayLike, names: Sequence[str], title: str) -> str:
    """Values between concepts, the darker the higher: from blank for the lowest to full for the highest."""
    values = np.asarray(values_NN, np.float64)
    low, high = float(values.min()), float(values.max())
    side, margin = 10.0, 4 + 4.8 * max(map(len, names))
    size = margin + side * len(names)
    marks = "".join(
        words(name, margin - 3, margin + side * (place + 0.8), 8, text_anchor="end")
        + element(
            "g",
            words(name, 3, 0, 8),
            transform=f"translate({margin + side * (place + 0.8):g} {margin:g}) rotate(-90)",
        )
        for place, name in enumerate(names)
    )
    return picture(
        size,
        size + 16,
        cells((values - low) / ((high - low) or 1), margin, margin, side, side),
        marks,
        words(f"{title}: from {low:.2f} (blank) to {high:.2f}", margin, size + 13, 12, font_weight="600"),
        label=title,
    )


def interval(mean: float, low: float, high: float, least: float = 0.4) -> Markup:
    """A share with its interval, on an axis from `least` to 1 with a mark at one half."""
    width, height = 120.0, 14.0

    def at(value: float) -> float:
        return 4 + (width - 8) * (min(max(value, least), 1) - least) / (1 - least)

    middle = height / 2
    faint = {"stroke": "currentColor", "stroke_opacity": 0.4}
    return picture(
        width,
        height,
        element("path", d=f"M4 {middle:g}H{width - 4:g}", **faint),
        element("path", d=f"M{at(0.5):.1f} 1V13", **faint, stroke_dasharray="2 2"),
        element("path", d=f"M{at(low):.1f} {middle:g}H{at(high):.1f}", stroke=ACCENT, stroke_width=2.5),
        element("circle", cx=at(mean), cy=middle, r=3.5, fill=ACCENT),
        label=f"{100 * mean:.1f}, from {100 * low:.1f} to {100 * high:.1f}",
    )


def _binned(step: NDArray[np.float64], value: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Step, mean, least and most of at most BINS stretches; one with nothing finite is NaN."""
    edges = np.linspace(0, len(step), min(BINS, len(step)) + 1).astype(int)
    found = []
    for start, stop in pairwise(edges):
        inside = value[start:stop][np.isfinite(value[start:stop])]
        bounds = (inside.mean(), inside.min(), inside.max()) if len(inside) else (np.nan,) * 3
        found.append((step[start:stop].mean(), *bounds))
    return tuple(np.array(found).T)


def _ticks(low: float, high: float, count: int) -> NDArray[np.float64]:
    """Round values that enclose low and high."""
    spread = high - low or abs(high) or 1.0
    return np.asarray(MaxNLocator(count, min_n_ticks=2).tick_values(low, low + spread), np.float64)


def _value_axis(ticks: NDArray[np.float64], y: NDArray[np.float64]) -> list[str]:
    left, _, right, _ = FRAME
    return [
        element("path", d=f"M{left:g} {at:.1f}H{right:g}", stroke="currentColor", stroke_opacity=0.18)
        + words(_short(tick), left - 4, at + 3.5, 10, text_anchor="end")
        for tick, at in zip(ticks, y, strict=True)
    ]


def _short(value: float) -> str:
    """A tick's label in a few characters."""
    text = f"{value:.4g}"
    return text if len(text) <= 6 else f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")


def _step_axis(step: NDArray[np.float64]) -> list[str]:
    left, _, right, bottom = FRAME
    return [
        words(f"{step[0]:g}", left, bottom + 14, 10),
        words("step", (left + right) / 2, bottom + 14, 10, text_anchor="middle"),
        words(f"{step[-1]:g}", right, bottom + 14, 10, text_anchor="end"),
    ]
