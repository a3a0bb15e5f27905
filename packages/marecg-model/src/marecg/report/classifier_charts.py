"""Charts of a classifier on its test part, as SVG: ROC, precision by recall, reliability, confusion.

Shapes: M records, N bins.
"""

from collections.abc import Sequence
from io import StringIO
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import precision_recall_curve, roc_curve

from marecg.evaluate.scores.calibration import reliability

STYLE: Any = {"svg.hashsalt": "marecg", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
NAMED = 10
"""Classes, at most, that a chart of curves names."""
Z = 1.96


def roc(frame: pd.DataFrame, names: Sequence[str], cuts: Sequence[float]) -> Markup:
    """Sensitivity by 1 − specificity of every class."""
    figure, axes = _square("1 − specificity", "sensitivity")
    axes.plot([0, 1], [0, 1], color="0.8", lw=0.8)
    for name, cut in zip(names, cuts, strict=True):
        y_M, p_M = _known(frame, name)
        false_rate, true_rate, _ = roc_curve(y_M, p_M)
        (line,) = axes.plot(false_rate, true_rate, lw=1.3, label=name)
        called_M = p_M >= cut
        axes.plot(called_M[y_M == 0].mean(), called_M[y_M == 1].mean(), "o", ms=4, color=line.get_color())
    return _svg(figure, axes, names)


def precision_recall(frame: pd.DataFrame, names: Sequence[str], cuts: Sequence[float]) -> Markup:
    """Precision by recall of every class."""
    figure, axes = _square("recall", "precision")
    for name, cut in zip(names, cuts, strict=True):
        y_M, p_M = _known(frame, name)
        precision, recall, _ = precision_recall_curve(y_M, p_M)
        (line,) = axes.step(recall, precision, lw=1.3, where="post", label=name)
        called_M = p_M >= cut
        if called_M.any():
            axes.plot(called_M[y_M == 1].mean(), y_M[called_M].mean(), "o", ms=4, color=line.get_color())
    return _svg(figure, axes, names)


def reliability_chart(frame: pd.DataFrame, name: str) -> Markup:
    """What was said of a class and what was, before and after calibration, with Wilson's intervals."""
    figure, axes = _square("probability", "share", 2.6)
    axes.plot([0, 1], [0, 1], color="0.8", lw=0.8)
    y_M, p_M = _known(frame, name)
    _, logit_M = _known(frame, name, "logit")
    before, after = reliability(y_M, expit(logit_M)), reliability(y_M, p_M)
    axes.plot(before.predicted_N, before.observed_N, "o-", ms=3, lw=0.8, color="0.6")
    n, share = after.count_N, after.observed_N
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    axes.vlines(after.predicted_N, middle - half, middle + half, color="C0", lw=0.8)
    axes.plot(after.predicted_N, share, "o-", ms=3, lw=1.2, color="C0")
    axes.set_title(name, fontsize=9)
    return _svg(figure, axes, ())


def confusion(frame: pd.DataFrame, names: Sequence[str], cuts: Sequence[float]) -> Markup:
    """The share of each class's records that is called as each class, and as none."""
    called = np.stack([frame[f"p {name}"] >= cut for name, cut in zip(names, cuts, strict=True)], 1)
    called = np.column_stack([called, ~called.any(axis=1)])
    has = [frame[f"label {name}"] == 1 for name in names]
    share = np.stack([called[rows].mean(axis=0) for rows in has])
    size = 1.5 + 0.42 * len(names)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(size + 0.8, size), layout="constrained")
        axes = figure.subplots()
        middle = np.arange(-0.5, len(names) + 1)
        axes.pcolormesh(
            middle, middle[:-1], share, cmap="Blues", vmin=0, vmax=1, edgecolor="white"
        )  # no image
        axes.set(aspect="equal", ylim=(len(names) - 0.5, -0.5))
        axes.set_xticks(range(len(names) + 1), [*names, "none"], rotation=60, ha="right")
        axes.set_yticks(range(len(names)), names)
        for (row, column), value in np.ndenumerate(share):
            if value >= 0.005:
                colour = "white" if value > 0.6 else "black"
                axes.text(
                    column, row, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=7
                )
        axes.set(xlabel="called", ylabel="has")
    return _svg(figure, axes, ())


def _known(
    frame: pd.DataFrame, name: str, what: str = "p"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    known = frame[frame[f"label {name}"].notna()]
    return known[f"label {name}"].to_numpy(np.float64), known[f"{what} {name}"].to_numpy(np.float64)


def _square(x: str, y: str, size: float = 4.0) -> tuple[Figure, Axes]:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(size, size), layout="constrained")
        axes = figure.subplots()
    axes.set(xlabel=x, ylabel=y, xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    return figure, axes


def _svg(figure: Figure, axes: Axes, names: Sequence[str]) -> Markup:
    text = StringIO()
    with mpl.rc_context(STYLE):
        if 0 < len(names) <= NAMED:
            axes.legend(fontsize=8, frameon=False)
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return Markup(svg[svg.index("<svg") :])  # noqa: S704 (drawn here)
