"""Draw an ECG on ECG paper with Matplotlib: 25 mm/s, 10 mm/mV, a row per lead.

Shapes: K leads, L samples.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecg_base import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INCHES_PER_SECOND, INCHES_PER_MV = 25 / 25.4, 10 / 25.4
ROW_MV = 2.0
"""Height of a lead's row in mV."""
MARGIN = 0.5
"""Margin around the paper in inches, for the names of the leads."""
FINE_SECONDS = 30
"""Maximum length in s of paper with small squares, because Matplotlib draws at most 1,000 grid lines."""
MINOR, MAJOR, INK = "#f7dcd9", "#e9aaa5", "#161616"


def plot(x_KL: NDArray[np.floating], fs: float, leads: Sequence[str], title: str = "") -> "Figure":
    """Return a figure of all leads, each centred on its median.

    Large squares are 0.2 s by 0.5 mV. Figures of at most 30 s also have small squares of 40 ms by 0.1 mV.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 (optional, and slow to import)
        from matplotlib.ticker import MultipleLocator  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("plot needs matplotlib", remedy="Run pip install matplotlib") from error
    seconds, mv = x_KL.shape[1] / fs, ROW_MV * len(leads)
    width, height = seconds * INCHES_PER_SECOND + 2 * MARGIN, mv * INCHES_PER_MV + 2 * MARGIN
    figure = Figure(figsize=(width, height))
    left, below = MARGIN / width, MARGIN / height
    axes = figure.add_axes((left, below, 1 - 2 * left, 1 - 2 * below))  # the paper has its true size
    time_L, baselines_K = np.arange(x_KL.shape[1]) / fs, -ROW_MV * np.arange(len(leads))
    for x_L, baseline in zip(x_KL, baselines_K, strict=True):
        known_L = x_L[np.isfinite(x_L)]
        level = np.median(known_L) if len(known_L) else 0.0
        axes.plot(time_L, x_L - level + baseline, color=INK, linewidth=0.7)
    for axis, minor, major in ((axes.xaxis, 0.04, 0.2), (axes.yaxis, 0.1, 0.5)):
        axis.set_major_locator(MultipleLocator(major))
        if seconds <= FINE_SECONDS:
            axis.set_minor_locator(MultipleLocator(minor))
    axes.grid(which="minor", color=MINOR, linewidth=0.4)
    axes.grid(which="major", color=MAJOR, linewidth=0.6)
    axes.tick_params(which="both", length=0, labelleft=False, labelbottom=False)
    axes.set(xlim=(0, seconds), ylim=(-mv + ROW_MV / 2, ROW_MV / 2))
    for lead, baseline in zip(leads, baselines_K, strict=True):
        axes.annotate(lead, (0, baseline), (-4, 0), textcoords="offset points", ha="right", va="center")
    axes.set_title(title, loc="left")
    axes.set_xlabel("25 mm/s, 10 mm/mV", loc="left")
    return figure
