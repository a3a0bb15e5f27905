"""Evaluate a classifier on its test records, by class and by group of records.

Shapes: M test records, K classes.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.special import expit

from ecg_records.storage.documents import read_model
from marecg.classify.calibration import log_loss
from marecg.classify.classifier import EcgClassifier
from marecg.evaluate.scores.metrics import (
    MIN_POSITIVES,
    age_bands,
    class_ap,
    class_auc,
    error_by_chance,
    expected_calibration_error,
    interval,
    resampled_macro_auc,
)
from marecg.evaluate.tasks.task import VAL
from marecg.model.card_figures import Auc
from marecg.settings import Count, FromZero, Settings, Share

EVALUATION = "evaluation.json"
"""Name of the file with the evaluation, in a classifier's folder."""
FEW_POSITIVES = 10
"""Number of validation positives below which a threshold is uncertain. Tables mark such classes."""

Counts = dict[str, dict[str, tuple[Count, Count]]]
"""Number of positives and number of labelled records, by split and class."""


class GroupScore(Auc):
    """Scores of a class on the labelled test records.

    Of the inherited fields, `auc` is the area under the ROC curve, and `low` and `high` are the ends of its
    95 % interval over resampled records.

    Attributes:
        name: the class.
        group: group of test records, such as `sex F`; empty for all records.
        ece, log_loss: expected calibration error and mean cross-entropy after calibration.
        ece_before, log_loss_before: the same without calibration, for the probabilities σ(logit).
        ece_chance: expected calibration error of perfectly calibrated probabilities.
        chosen_by: number of validation positives used to choose the threshold; None without a threshold.
        prevalence: share of records that are expected to have the class when the classifier is used.
        ppv_at_prevalence: positive predictive value at `prevalence`.
    """

    name: str
    group: str = ""
    records: Count
    positives: Count
    average_precision: Share
    ece: Share
    ece_before: Share
    ece_chance: Share
    log_loss: FromZero
    log_loss_before: FromZero
    sensitivity: Share
    specificity: Share
    ppv: Share | None
    chosen_by: Count | None
    prevalence: Share | None = None
    ppv_at_prevalence: Share | None = None

    @property
    def uncertain(self) -> bool:
        """Return whether too few positives were used to choose the threshold."""
        return self.chosen_by is not None and self.chosen_by < FEW_POSITIVES


class Evaluation(Settings):
    """Content of `evaluation.json`.

    Attributes:
        model: name of the encoder.
        data: folder name of the corpus.
        task: name of the set of labels.
        folds: how the records were split into train, validation and test.
        counts: number of positives and of known labels, by split and class.
        missing: number of labelled records that the corpus lacks.
        missing_names: names of the first missing records.
        exclusive: whether each record has exactly one class.
        leak: sentence that states whether the encoder was pretrained on test records.
        seen: number of test records that the encoder was trained on, or whose patient has another record that
            the encoder was trained on.
        readout: readout of the head, that is, the features that the encoder gives to the head.
        losses: log loss on validation of each readout that was tried.
        reused: number of records whose embeddings an earlier run had stored.
        scores: scores of each class on all test records, then in groups of test records.
    """

    model: str
    data: str
    task: str
    folds: str
    counts: Counts
    missing: Count
    missing_names: tuple[str, ...] = ()
    exclusive: bool = False
    leak: str
    seen: Count
    readout: str = ""
    losses: dict[str, FromZero] = Field(default_factory=dict)
    reused: Count = 0
    scores: tuple[GroupScore, ...]


def read_evaluation(folder: str | Path) -> Evaluation:
    """Read the evaluation in a classifier's folder. Raises `InputError` if it is damaged."""
    return read_model(
        Evaluation, Path(folder) / EVALUATION, "isn't an evaluation", "Fit the classifier again"
    )


def class_scores(
    classifier: EcgClassifier,
    frame: pd.DataFrame,
    counts: Counts,
    prevalence: Mapping[str, float],
    group: str = "",
) -> list[GroupScore]:
    """Return the scores of each class on test records.

    Args:
        classifier: fitted classifier.
        frame: predictions of the test records, as in predictions.parquet.
        counts: number of positives and of labelled records, by split and class.
        prevalence: share of records that are expected to have a class when the classifier is used, by class.
            Classes may be left out.
        group: name of the group of records in `frame`. Classes with few positives or negatives in the group
            are left out. Empty if `frame` has all test records.
    """
    scores: list[GroupScore] = []
    names = classifier.classes_.tolist()
    calls_MK = classifier.calls(frame[[f"p {name}" for name in names]].to_numpy(np.float64))
    for name, calls_M in zip(names, calls_MK.T, strict=True):
        has_label_M = frame[f"label {name}"].notna().to_numpy()
        labelled, called_M = frame[has_label_M], calls_M[has_label_M]
        y_M, logit_M, p_M = (
            labelled[f"{what} {name}"].to_numpy(np.float64) for what in ("label", "logit", "p")
        )
        positives = int(y_M.sum())
        if group and min(positives, len(y_M) - positives) < MIN_POSITIVES:
            continue
        y_M1, before_M, share = y_M[:, None].astype(np.uint8), expit(logit_M), prevalence.get(name)
        sensitivity, specificity = called_M[y_M == 1].mean(), 1 - called_M[y_M == 0].mean()
        low, high = interval(resampled_macro_auc(y_M1, logit_M[None, :, None]))
        scores.append(
            GroupScore(
                name=name,
                group=group,
                records=len(y_M),
                positives=positives,
                auc=float(class_auc(y_M1, logit_M[:, None])[0]),
                low=low,
                high=high,
                average_precision=float(class_ap(y_M1, logit_M[:, None])[0]),
                ece=expected_calibration_error(y_M, p_M),
                ece_before=expected_calibration_error(y_M, before_M),
                ece_chance=error_by_chance(p_M),
                log_loss=log_loss(y_M, p_M),
                log_loss_before=log_loss(y_M, before_M),
                sensitivity=float(sensitivity),
                specificity=float(specificity),
                ppv=float(y_M[called_M].mean()) if called_M.any() else None,
                chosen_by=counts[VAL][name][0] if classifier.several_ else None,
                prevalence=share,
                ppv_at_prevalence=None if share is None else ppv(sensitivity, specificity, share),
            )
        )
    return scores


def group_scores(classifier: EcgClassifier, frame: pd.DataFrame, counts: Counts) -> list[GroupScore]:
    """Return scores for groups of records: by age, sex, source, device, and use in the encoder's training."""
    by = {
        "age": age_bands(frame["age"]),
        "sex": frame["sex"],
        "source": frame["source"],
        "device": frame.get("device", pd.Series(None, frame.index, dtype=object)),
        "in pretraining": frame["seen"].map({True: "yes", False: "no"}),
    }
    scores: list[GroupScore] = []
    for attribute, values in by.items():
        different = sorted(values.dropna().unique())
        for value in different if len(different) > 1 else ():
            scores += class_scores(classifier, frame[values == value], counts, {}, f"{attribute} {value}")
    return scores


def ppv(sensitivity: float, specificity: float, prevalence: float) -> float | None:
    """Return the positive predictive value at a prevalence, or None if no record is reported as positive.

    Example:
        >>> ppv(0.9, 0.9, 0.1)
        0.5
    """
    right = sensitivity * prevalence
    called = right + (1 - specificity) * (1 - prevalence)
    return round(float(right / called), 12) if called > 0 else None
