"""Summarise trials as the cells of a report.

A cell has the scores of a method at a share of the training records. A trial is a single fit, on a random
draw of such a share. A row of a report is a method. Most rows of an encoder differ in the readout
(`marecg.model.readout`) of its patch vectors H. h_rhythm is the readout that the encoder's own pool computes.
A concept score ranks records by their similarity to a concept of the graph (docs/evaluation/zeroshot.md).

A task may be probed several times, with the folds of its split rotated. Each of these probes is a rotation.

Shapes: M test records, K classes, S seeds, R resamples.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from marecg.evaluate.scores.metrics import (
    RESAMPLES,
    Floats,
    Rotations,
    class_ap,
    class_auc,
    f_max,
    interval,
    macro_auc,
    mean_macro_auc,
    resampled_macro_auc,
    rotated,
    scorable,
)
from marecg.evaluate.scores.results import AucDifference, Cell, ClassScore, Range, Spread

ENCODER, WIDE, BEATS, MEAN_H = "encoder", "encoder, wide", "encoder, beats", "encoder, mean H"
"""Rows of a run's encoder: h_rhythm, the wide readout, the wide and the beat readout, and the mean of H.

The mean of H is only evaluated if the pool of h_rhythm is untrained.
"""
FULL = "encoder, full"
"""Row of the full readout. Its logits are the average of three classifiers."""
CONCEPTS = f"{BEATS} + concepts"
"""Row of the beat readout together with each class's concept score."""
ZERO_SHOT = "zero-shot"
"""Row of a run's concept scores, without a classifier that is trained on the task."""
READ_AS = {"rhythm": ENCODER, "wide": WIDE, "beats": BEATS, "full": FULL, "concepts": CONCEPTS}
"""Name of the row for each value of the setting `readout` of `marecg probe`."""
ENCODER_METHODS = (ENCODER, WIDE, BEATS, FULL, CONCEPTS, MEAN_H, ZERO_SHOT)
"""Rows of a run's encoder. All other rows are controls or baselines."""
RANDOM = "random encoder"
"""Row of an untrained encoder with the same shape as the run's encoder."""


@dataclass(frozen=True)
class Trial:
    """Result of a single fit, on a draw of training records.

    Attributes:
        fraction: share of the training records.
        seed: seed of the draw.
        train: rows of the drawn training records.
        chosen: value chosen on validation, such as C; None for zero-shot.
        val_auc: macro AUC on validation with this value; None for zero-shot.
        untrained: columns of the classes without a fitted classifier or, for zero-shot, without a concept.
        logits_MK: logits of the test records.
        seconds: wall time of drawing, fitting, choosing and scoring.
    """

    fraction: float
    seed: int
    train: NDArray[np.int64]
    chosen: float | None
    val_auc: float | None
    untrained: tuple[int, ...]
    logits_MK: Floats
    seconds: float


def pooled(rotations: Sequence[Sequence[Trial]]) -> list[Trial]:
    """Join trials with the same share and seed, one from each rotation, into a trial on all test records.

    `chosen` and `val_auc` are averaged over rotations, `seconds` are added, and a class is in `untrained` if
    it is untrained in any rotation. `train` comes from the first rotation.
    """
    if len(rotations) == 1:
        return list(rotations[0])
    return [
        replace(
            draws[0],
            chosen=_mean([draw.chosen for draw in draws]),
            val_auc=_mean([draw.val_auc for draw in draws]),
            untrained=tuple(sorted({k for draw in draws for k in draw.untrained})),
            logits_MK=np.concatenate([draw.logits_MK for draw in draws]),
            seconds=sum(draw.seconds for draw in draws),
        )
        for draws in zip(*rotations, strict=True)
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None


def judged_by(methods: Collection[str], wide: bool = False) -> str:
    """Return the name of the row by which a run is compared with other runs.

    This is h_rhythm or, if no loss trained its pool, the mean of H.

    Args:
        methods: methods in the run's report.
        wide: return a row with the beat readout if there is such a row, and otherwise the wide readout.
    """
    if wide:
        return next((name for name in (CONCEPTS, BEATS) if name in methods), WIDE)
    return MEAN_H if MEAN_H in methods else ENCODER


def summarise(
    trials: Mapping[str, Sequence[Trial]],
    dimensions: Mapping[str, int],
    y_MK: NDArray[np.uint8],
    classes: tuple[str, ...],
    reference: str = ENCODER,
    resamples: int = RESAMPLES,
    rotation_M: Rotations = None,
) -> tuple[Cell, ...]:
    """Return a cell for each method and each share of the training records.

    Args:
        trials: trials of each method.
        dimensions: number of features of each method.
        y_MK: labels of the test records.
        classes: names of the classes.
        reference: method that other methods are compared with. Its cells come first.
        resamples: number of resamples for intervals.
        rotation_M: number of the rotation in which each record was tested; None for a single rotation.
    """
    cells: list[Cell] = []
    resampled: dict[float, tuple[float, Floats]] = {}
    for method in sorted(trials, key=lambda name: name != reference):
        for fraction, group in groupby(trials[method], key=lambda trial: trial.fraction):
            drawn = list(group)
            logits_SMK = np.stack([trial.logits_MK for trial in drawn])
            auc_R = resampled_macro_auc(y_MK, logits_SMK, resamples, rotation_M)
            mean_auc = mean_macro_auc(y_MK, logits_SMK, rotation_M)
            if method == reference:
                resampled[fraction] = (mean_auc, auc_R)
            versus = None
            if method != reference and fraction in resampled:
                mean, reference_R = resampled[fraction]
                versus = difference(mean_auc - mean, auc_R, reference_R)
            low, high = interval(auc_R)
            within = Range(low=low, high=high)
            cells.append(_cell(method, dimensions[method], drawn, y_MK, classes, within, versus, rotation_M))
    return tuple(cells)


def _cell(
    method: str,
    dimension: int,
    trials: list[Trial],
    y_MK: NDArray[np.uint8],
    classes: tuple[str, ...],
    within: Range,
    versus: AucDifference | None,
    rotation_M: Rotations,
) -> Cell:
    rotations = rotated(rotation_M)
    has_auc_K = np.any([scorable(y_MK[rows]) for rows in rotations], axis=0)
    auc_SK, ap_SK = (
        np.nanmean(
            [
                [of_class(y_MK[rows], trial.logits_MK[rows])[has_auc_K] for trial in trials]
                for rows in rotations
            ],
            axis=0,
        )
        for of_class in (class_auc, class_ap)
    )
    scored = [name for name, has_auc in zip(classes, has_auc_K, strict=True) if has_auc]
    support_K = y_MK[:, has_auc_K].sum(axis=0, dtype=np.int64)
    val_auc = [trial.val_auc for trial in trials if trial.val_auc is not None]
    return Cell(
        method=method,
        dimension=dimension,
        fraction=trials[0].fraction,
        records=len(trials[0].train),
        seeds=len(trials),
        macro_auc=spread(np.array([macro_auc(y_MK, trial.logits_MK, rotation_M) for trial in trials])),
        interval=within,
        versus_encoder=versus,
        val_macro_auc=spread(np.array(val_auc)) if val_auc else None,
        chosen=tuple(trial.chosen for trial in trials if trial.chosen is not None),
        classes=tuple(
            ClassScore(name=name, support=int(support), auc=spread(auc_S), ap=spread(ap_S))
            for name, support, auc_S, ap_S in zip(scored, support_K, auc_SK.T, ap_SK.T, strict=True)
        ),
        left_out=tuple(name for name in classes if name not in scored),
        untrained=tuple(tuple(classes[k] for k in trial.untrained) for trial in trials),
        seconds=sum(trial.seconds for trial in trials),
        macro_ap=spread(ap_SK.mean(axis=1)) if scored else None,
        f_max=spread(
            np.array(
                [
                    np.mean([f_max(y_MK[rows], trial.logits_MK[rows]) for rows in rotations])
                    for trial in trials
                ]
            )
        ),
    )


def difference(mean: float, auc_R: Floats, reference_R: Floats) -> AucDifference:
    """Return the difference of two macro AUCs, with an interval and a p-value from the same resamples.

    p is twice the share of resampled differences on the rarer side of zero. The estimate itself counts as a
    resample (Davison & Hinkley 1997, §4).

    Args:
        mean: difference of the macro AUCs.
        auc_R: resampled macro AUCs of the method.
        reference_R: resampled macro AUCs of the reference.
    """
    difference_R = auc_R - reference_R
    low, high = interval(difference_R)
    rarer = min((difference_R <= 0).sum(), (difference_R >= 0).sum())
    return AucDifference(mean=mean, low=low, high=high, p=min(1.0, 2 * (1 + rarer) / (1 + len(difference_R))))


def spread(values_S: Floats) -> Spread:
    """Return the mean and sample standard deviation of a value over seeds.

    Example:
        >>> spread(np.array([0.0, 0.5, 1.0]))
        Spread(mean=0.5, sd=0.5)
    """
    return Spread(mean=float(values_S.mean()), sd=float(values_S.std(ddof=1)) if len(values_S) > 1 else None)
