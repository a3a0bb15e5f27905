"""Charts of a classifier on its test part, as SVG: ROC, precision by recall, reliability, confusion.

Shapes: M records, N bins.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import precision_recall_curve, roc_curve

from marecg.evaluate.scores.metrics import reliability
from marecg.report.charts import canvas, legend, matrix, square, svg
from marecg.report.svg import ACCENT

Z = 1.96


def roc(frame: pd.DataFrame, names: Sequence[str], cuts: Sequence[float]) -> Markup:
    """Sensitivity by 1 − specificity of every class."""
    with canvas(4, 4.4) as axes:
        axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
        for name, cut in zip(names, cuts, strict=True):
            y_M, p_M = _known(frame, name)
            false_rate, true_rate, _ = roc_curve(y_M, p_M)
            (line,) = axes.plot(false_rate, true_rate, lw=1.3, label=name)
            called_M = p_M >= cut
            axes.plot(called_M[y_M == 0].mean(), called_M[y_M == 1].mean(), "o", ms=4, color=line.get_color())
        square(axes, "1 − specificity", "sensitivity")
        legend(axes)
        return svg(axes, "ROC")


def precision_recall(frame: pd.DataFrame, names: Sequence[str], cuts: Sequence[float]) -> Markup:
    """Precision by recall of every class."""
    with canvas(4, 4.4) as axes:
        for name, cut in zip(names, cuts, strict=True):
            y_M, p_M = _known(frame, name)
            precision, recall, _ = precision_recall_curve(y_M, p_M)
            (line,) = axes.step(recall, precision, lw=1.3, where="post", label=name)
            called_M = p_M >= cut
            if called_M.any():
                axes.plot(called_M[y_M == 1].mean(), y_M[called_M].mean(), "o", ms=4, color=line.get_color())
        square(axes, "recall", "precision")
        legend(axes)
        return svg(axes, "Precision by recall")


def reliability_chart(frame: pd.DataFrame, name: str) -> Markup:
    """What was predicted of a class and what was, before and after calibration, with Wilson's intervals."""
    y_M, p_M = _known(frame, name)
    _, logit_M = _known(frame, name, "logit")
    before, after = reliability(y_M, expit(logit_M)), reliability(y_M, p_M)
    n, share = after.count_N, after.observed_N
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    with canvas(2.6, 2.8) as axes:
        axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
        axes.plot(before.predicted_N, before.observed_N, "o-", ms=3, lw=0.8, color="0.6")
        axes.vlines(after.predicted_N, middle - half, middle + half, color=ACCENT, lw=0.8)
        axes.plot(after.predicted_N, share, "o-", ms=3, lw=1.2, color=ACCENT)
        axes.set_title(name)
        square(axes, "probability", "share")
        return svg(axes, f"Reliability of {name}")


def confusion(frame: pd.DataFrame, names: Sequence[str], cuts: Sequence[float]) -> Markup:
    """The share of each class's records that is called as each class, and as none."""
    called = np.stack([frame[f"p {name}"] >= cut for name, cut in zip(names, cuts, strict=True)], 1)
    called = np.column_stack([called, ~called.any(axis=1)])
    share = np.stack([called[frame[f"label {name}"] == 1].mean(axis=0) for name in names])
    return matrix(share, names, [*names, "none"], "Confusion", axes_names=("has", "called"), percent=True)


def _known(
    frame: pd.DataFrame, name: str, what: str = "p"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    known = frame[frame[f"label {name}"].notna()]
    return known[f"label {name}"].to_numpy(np.float64), known[f"{what} {name}"].to_numpy(np.float64)
