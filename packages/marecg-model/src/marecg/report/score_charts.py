"""Draw test scores: ROC, precision by recall, reliability, confusion.

The charts show the logits of a probe, or a classifier's table of predictions. This table has a row per test
record, and for each class its label, logit and probability (`label AF`, `logit AF`, `p AF`). A call is a
class that the classifier assigns to a record. The reference method of a probe is the method that its report
compares with the other methods.

Shapes: M test records, K classes, S seeds, F families, N bins.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binomtest
from sklearn.metrics import precision_recall_curve, roc_curve

from ecg_ontology import Ontology
from marecg.evaluate.scores.metrics import reliability, rotated, scorable
from marecg.evaluate.scores.predictions import Predictions
from marecg.evaluate.tasks.task import zeroshot_concepts
from marecg.report.charts import NAMED, canvas, legend, matrix, square, svg
from marecg.report.svg import ACCENT

GRID = np.linspace(0, 1, 201)
"""False-positive rates at which curves are averaged."""
ELSEWHERE = "no concept"
"""Family of classes without a concept in the graph."""


def method_rocs(predictions: Predictions, share: float) -> Markup:
    """Draw an ROC curve per method, averaged over classes, at a share of the training records."""
    cells = [(name, fraction) for name, fraction in predictions.logits if fraction in (share, 0)]
    # The reference method is first, so that it has the same colour in all charts.
    cells.sort(key=lambda cell: cell[0] != predictions.reference)
    means = [[np.mean(list(of.values()), axis=0) for of in _rocs(predictions, cell)] for cell in cells]
    curves = {name: np.mean(values, axis=0) for (name, _), values in zip(cells, means, strict=True)}
    return _chart(curves, "ROC, mean over classes")


def class_rocs(predictions: Predictions, share: float) -> Markup:
    """Draw an ROC curve for each of the most frequent classes, by the scores of the reference method."""
    rotations = _rocs(predictions, (predictions.reference, share))
    support = dict(zip(predictions.classes, predictions.y_MK.sum(axis=0, dtype=int), strict=True))
    frequent = sorted({name for of in rotations for name in of}, key=lambda name: (-support[name], name))
    curves = {
        name: np.mean([of[name] for of in rotations if name in of], axis=0) for name in frequent[:NAMED]
    }
    return _chart(curves, f"ROC of {predictions.reference}, by class")


def confusions(predictions: Predictions, share: float, task: str, ontology: Ontology) -> Iterator[Markup]:
    """Draw a confusion matrix of families, and a matrix of classes: true class against predicted class.

    The predicted class has the largest logit of the reference method. A record may have several true classes.
    If the predicted class is among them, the record counts as correct for all of them. Classes are sorted by
    family.
    """
    family_of = _families(predictions.classes, task, ontology)
    present_K = np.asarray(predictions.y_MK.any(axis=0))
    order = [
        k
        for family in dict.fromkeys((*family_of.values(), ELSEWHERE))
        for k, name in enumerate(predictions.classes)
        if present_K[k] and family_of.get(name, ELSEWHERE) == family
    ]
    names = [predictions.classes[k] for k in order]
    y_MK = predictions.y_MK[:, order]
    top_M = predictions.logits[predictions.reference, share].mean(axis=0)[:, order].argmax(axis=1)
    families = [family_of.get(name, ELSEWHERE) for name in names]
    groups = list(dict.fromkeys(families))
    group_K = np.array([groups.index(family) for family in families])
    if len(groups) > 1:
        y_MF = np.stack([y_MK[:, group_K == group].any(axis=1) for group in range(len(groups))], axis=1)
        yield _confusion(y_MF, group_K[top_M], groups, "Families")
    yield _confusion(y_MK, top_M, names, "Classes")


def _confusion(
    y_MK: NDArray[np.generic], top_M: NDArray[np.int64], names: Sequence[str], title: str
) -> Markup:
    y_MK = y_MK.astype(bool)
    right_M = y_MK[np.arange(len(top_M)), top_M]
    taken_MK = np.eye(y_MK.shape[1])[top_M] * ~right_M[:, None]
    share_KK = np.stack([taken_MK[has_M].mean(axis=0) for has_M in y_MK.T])
    share_KK[np.diag_indices(len(names))] += [right_M[has_M].mean() for has_M in y_MK.T]
    return matrix(share_KK, names, names, title, axes_names=("has", "likeliest"), percent=True)


def _families(classes: Sequence[str], task: str, ontology: Ontology) -> dict[str, str]:
    """Return the family of each class that has a concept, with classes in the order of the graph."""
    nodes, concepts = {node.abbr: node for node in ontology.nodes}, zeroshot_concepts(task)
    concept_of = {name: next(iter(concepts.get(name, (name,))), "") for name in classes}
    node_of = {name: nodes[concept] for name, concept in concept_of.items() if concept in nodes}
    rank = {index: number for number, index in enumerate(ontology.by_family)}
    ordered = sorted(node_of, key=lambda name: rank[node_of[name].index])
    return {name: ontology.nodes[ontology.families[node_of[name].index]].abbr for name in ordered}


def _rocs(predictions: Predictions, cell: tuple[str, float]) -> list[dict[str, NDArray[np.float64]]]:
    """Return for each rotation the sensitivity of each scorable class on `GRID`, averaged over seeds."""
    logits_SMK, rotations = predictions.logits[cell], []
    for rows in rotated(predictions.rotation_M):
        y_MK, curves = predictions.y_MK[rows], {}
        for k in np.flatnonzero(scorable(y_MK)):
            drawn = [roc_curve(y_MK[:, k], logits_MK[rows, k]) for logits_MK in logits_SMK]
            curves[predictions.classes[k]] = np.mean([np.interp(GRID, x, y) for x, y, _ in drawn], axis=0)
        rotations.append(curves)
    return rotations


def _chart(curves: Mapping[str, NDArray[np.float64]], title: str) -> Markup:
    with canvas(4, 4.2 + 0.1 * len(curves)) as axes:
        axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
        for name, true_rate in curves.items():
            axes.plot([0, *GRID], [0, *true_rate], lw=1.2, label=name)
        square(axes, "1 − specificity", "sensitivity")
        axes.set_title(title)
        legend(axes)
        return svg(axes, title)


def roc(frame: pd.DataFrame, calls: pd.DataFrame) -> Markup:
    """Draw the ROC curve of each class, with a dot for the classifier's calls.

    Args:
        frame: the classifier's table of predictions.
        calls: whether each class is called for each record, from `classifier.calls_of`.
    """
    with canvas(4, 4.4) as axes:
        axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
        for name in calls:
            y_M, p_M = _labelled(frame, name)
            false_rate, true_rate, _ = roc_curve(y_M, p_M)
            (line,) = axes.plot(false_rate, true_rate, lw=1.3, label=name)
            called_M = _called(frame, calls, name)
            axes.plot(called_M[y_M == 0].mean(), called_M[y_M == 1].mean(), "o", ms=4, color=line.get_color())
        square(axes, "1 − specificity", "sensitivity")
        legend(axes)
        return svg(axes, "ROC")


def precision_recall(frame: pd.DataFrame, calls: pd.DataFrame) -> Markup:
    """Draw precision against recall for each class, with a dot for the calls. See `roc` for the arguments."""
    with canvas(4, 4.4) as axes:
        for name in calls:
            y_M, p_M = _labelled(frame, name)
            precision, recall, _ = precision_recall_curve(y_M, p_M)
            (line,) = axes.step(recall, precision, lw=1.3, where="post", label=name)
            called_M = _called(frame, calls, name)
            if called_M.any():
                axes.plot(called_M[y_M == 1].mean(), y_M[called_M].mean(), "o", ms=4, color=line.get_color())
        square(axes, "recall", "precision")
        legend(axes)
        return svg(axes, "Precision by recall")


def reliability_chart(frame: pd.DataFrame, name: str) -> Markup:
    """Draw observed shares against predicted probabilities of a class, before and after calibration."""
    y_M, p_M = _labelled(frame, name)
    _, logit_M = _labelled(frame, name, "logit")
    before, after = reliability(y_M, expit(logit_M)), reliability(y_M, p_M)
    counts = zip(after.count_N.tolist(), after.observed_N, strict=True)
    ends_N2 = np.array([binomtest(round(n * share), n).proportion_ci(0.95, "wilson") for n, share in counts])
    with canvas(2.6, 2.8) as axes:
        axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
        axes.plot(before.predicted_N, before.observed_N, "o-", ms=3, lw=0.8, color="0.6")
        axes.vlines(after.predicted_N, *ends_N2.T, color=ACCENT, lw=0.8)
        axes.plot(after.predicted_N, after.observed_N, "o-", ms=3, lw=1.2, color=ACCENT)
        axes.set_title(name)
        square(axes, "probability", "share")
        return svg(axes, f"Reliability of {name}")


def confusion(frame: pd.DataFrame, calls: pd.DataFrame) -> Markup:
    """Draw a confusion matrix: the share of each class's records for which each class, or none, is called."""
    names = list(calls)
    called = np.column_stack([calls, ~calls.any(axis=1)])
    share = np.stack([called[frame[f"label {name}"] == 1].mean(axis=0) for name in names])
    return matrix(share, names, [*names, "none"], "Confusion", axes_names=("has", "called"), percent=True)


def _called(frame: pd.DataFrame, calls: pd.DataFrame, name: str) -> NDArray[np.bool_]:
    return np.asarray(calls.loc[frame[f"label {name}"].notna(), name], bool)


def _labelled(
    frame: pd.DataFrame, name: str, column: str = "p"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    labelled = frame[frame[f"label {name}"].notna()]
    return labelled[f"label {name}"].to_numpy(np.float64), labelled[f"{column} {name}"].to_numpy(np.float64)
