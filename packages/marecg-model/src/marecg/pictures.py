"""Figures of a run: what was learned, how, and next to what. Each function returns a matplotlib figure.

Shapes: N concepts, B records, C leads, L samples, D width.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

PAPER = {"major": "#e8a2a2", "minor": "#f6dada"}
"""The colours of ECG paper."""


def curves(metrics: Mapping[str, Sequence[float]]) -> Figure:
    """Every column against the step, each in a panel of its own scale.

    Args:
        metrics: the columns of metrics.csv or monitors.csv.
    """
    names = [name for name in metrics if name not in {"step", "epoch"}]
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.2 * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for panel, name in zip(panels, names, strict=False):
        panel.plot(metrics["step"], metrics[name], linewidth=0.9, color="#1f4e79")
        panel.set_title(name, fontsize=9)
        panel.tick_params(labelsize=7)
        panel.grid(alpha=0.3)
    for panel in panels[len(names) :]:
        panel.set_visible(False)
    return figure


def prototypes(
    prototypes_NK: NDArray[np.float32], distances_NN: ArrayLike, names: Sequence[str], sigma: float
) -> Figure:
    """The prototypes' cosines beside exp(−D/σ), the closeness that the graph asks for (eq. gscl-target)."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    cosines_NN = prototypes_NK @ prototypes_NK.T
    _matrix(left, cosines_NN, names, "cosine of the prototypes")
    _matrix(right, np.exp(-np.asarray(distances_NN) / sigma), names, "exp(−D/σ) of the graph")
    return figure


def ecg(x_CL: NDArray[np.float32], fs: float, leads: Sequence[str], title: str = "") -> Figure:
    """A record on standard paper: 25 mm/s and 10 mm/mV, four columns of 2.5 s, and all of lead II below."""
    figure = Figure(figsize=(10.4, 6.2), layout="constrained")
    panel = figure.subplots()
    seconds = 2.5
    samples = int(seconds * fs)
    for place, name in enumerate(leads):
        column, row = divmod(place, 3)
        part = x_CL[place, column * samples : (column + 1) * samples]
        panel.plot(column * seconds + np.arange(len(part)) / fs, part - 3 * row, color="black", linewidth=0.7)
        panel.text(column * seconds + 0.05, 1.1 - 3 * row, name, fontsize=8)
    strip = x_CL[list(leads).index("II"), : int(4 * seconds * fs)]
    panel.plot(np.arange(len(strip)) / fs, strip - 9, color="black", linewidth=0.7)
    panel.text(0.05, -7.9, "II", fontsize=8)
    panel.set(xlim=(0, 4 * seconds), ylim=(-10.5, 2), aspect=0.4, title=title)
    _paper(panel)
    return figure


def neighbours(
    signals_BCL: NDArray[np.float32], fs: float, captions: Sequence[Sequence[str]], lead: int, name: str
) -> Figure:
    """Query records in the first column and their nearest in embedding space beside them, one lead each.

    Args:
        signals_BCL: rows · columns records, row by row.
        captions: what to write over each, [rows][columns].
        lead, name: which lead to draw, and what it is called.
    """
    rows, columns = len(captions), len(captions[0])
    figure = Figure(figsize=(3.4 * columns, 1.5 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for place, panel in enumerate(panels.flat):
        signal = signals_BCL[place, lead, : int(5 * fs)]
        panel.plot(np.arange(len(signal)) / fs, signal, color="black", linewidth=0.6)
        panel.set_title(captions[place // columns][place % columns], fontsize=7)
        panel.set(xticks=[], yticks=[])
    figure.supylabel(f"lead {name}, 5 s", fontsize=8)
    return figure


def _matrix(panel: Axes, values_NN: NDArray[np.floating[Any]], names: Sequence[str], title: str) -> None:
    picture = panel.imshow(values_NN, cmap="cividis")
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize=5)
    panel.set_yticks(range(len(names)), names, fontsize=5)
    panel.set_title(title, fontsize=9)
    assert panel.figure is not None
    panel.figure.colorbar(picture, ax=panel, shrink=0.8)


def _paper(panel: Axes) -> None:
    """One small square is 40 ms by 0.1 mV, a large one five of them."""
    left, right = panel.get_xlim()
    bottom, top = panel.get_ylim()
    panel.set_xticks(np.arange(left, right + 1e-9, 0.2), minor=False)
    panel.set_yticks(np.arange(bottom, top + 1e-9, 0.5), minor=False)
    panel.set_xticks(np.arange(left, right + 1e-9, 0.04), minor=True)
    panel.set_yticks(np.arange(bottom, top + 1e-9, 0.1), minor=True)
    panel.grid(which="major", color=PAPER["major"], linewidth=0.6)
    panel.grid(which="minor", color=PAPER["minor"], linewidth=0.3)
    panel.set_xticklabels([])
    panel.set_yticklabels([])
    panel.tick_params(length=0, which="both")
    panel.set_axisbelow(True)
