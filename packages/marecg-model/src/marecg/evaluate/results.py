"""What a probe reports, in the form in which it is printed as JSON and kept in the run folder.

Shapes: M records, K classes.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from marecg.evaluate.metrics import class_auc, scorable
from marecg.evaluate.protocol import Trial


class Frozen(BaseModel):
    """A value: immutable, closed against misspelt fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spread(Frozen):
    """A mean over seeds; `sd` (n − 1) is None where there was one seed."""

    mean: float
    sd: float | None


class ClassScore(Frozen):
    """One class on the test records; `support` counts its positives there."""

    name: str
    support: int
    auc: Spread


class Cell(Frozen):
    """One method at one share of the training records.

    Attributes:
        method: whose features.
        dimension: how many features.
        fraction: the share.
        records: how many records it is.
        seeds: how many draws.
        macro_auc: over the classes in `classes`.
        val_macro_auc: of the chosen strength, on val.
        strengths: the chosen C per seed.
        classes: every class that has positives and negatives in test.
        left_out: the classes that have not.
        untrained: per seed, the classes that the drawn records don't show; their test AUC counts as ½.
    """

    method: str
    dimension: int
    fraction: float
    records: int
    seeds: int
    macro_auc: Spread
    val_macro_auc: Spread
    strengths: tuple[float, ...]
    classes: tuple[ClassScore, ...]
    left_out: tuple[str, ...]
    untrained: tuple[tuple[str, ...], ...]


class Counts(Frozen):
    """The records of a task; the missing and the unreadable are named, the latter with their reason."""

    train: int
    val: int
    test: int
    unlabelled: int
    missing: tuple[str, ...]
    unreadable: dict[str, str]


class Report(Frozen):
    """Everything that a number depends on, and the numbers."""

    task: str
    protocol: str
    folds: str
    window: str
    classes: tuple[str, ...]
    records: Counts
    model: str
    model_sha256: str
    ontology_sha256: str
    data_sha256: str
    task_sha256: str
    cells: tuple[Cell, ...]


def cells(
    method: str,
    dimension: int,
    trials: Sequence[Trial],
    y_MK: NDArray[np.uint8],
    classes: tuple[str, ...],
) -> tuple[Cell, ...]:
    """Summarise one method's trials on the test labels uint8 [M, K], one cell per fraction in their order."""
    return tuple(
        _cell(method, dimension, list(group), y_MK, classes)
        for _, group in groupby(trials, key=lambda trial: trial.fraction)
    )


def _cell(
    method: str, dimension: int, trials: list[Trial], y_MK: NDArray[np.uint8], classes: tuple[str, ...]
) -> Cell:
    has_auc_K = scorable(y_MK)
    auc_SK = np.array([class_auc(y_MK, trial.logits_MK) for trial in trials])[:, has_auc_K]
    scored = [name for name, has_auc in zip(classes, has_auc_K, strict=True) if has_auc]
    support_K = y_MK[:, has_auc_K].sum(axis=0, dtype=np.int64)
    return Cell(
        method=method,
        dimension=dimension,
        fraction=trials[0].fraction,
        records=len(trials[0].train),
        seeds=len(trials),
        macro_auc=spread(auc_SK.mean(axis=1)),
        val_macro_auc=spread(np.array([trial.val_auc for trial in trials])),
        strengths=tuple(trial.strength for trial in trials),
        classes=tuple(
            ClassScore(name=name, support=int(support), auc=spread(auc_S))
            for name, support, auc_S in zip(scored, support_K, auc_SK.T, strict=True)
        ),
        left_out=tuple(name for name in classes if name not in scored),
        untrained=tuple(tuple(classes[k] for k in trial.untrained) for trial in trials),
    )


def spread(values: NDArray[np.float64]) -> Spread:
    """Mean and sample standard deviation of one value per seed.

    Example:
        >>> spread(np.array([0.5, 0.7]))
        Spread(mean=0.6, sd=0.14142135623730948)
    """
    return Spread(mean=float(values.mean()), sd=float(values.std(ddof=1)) if len(values) > 1 else None)
