"""Whom an encoder serves how well: figures by age, sex and source.

Shapes: M test records, K classes, S seeds.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from marecg.evaluate.scores.metrics import (
    Floats,
    Rotations,
    interval,
    mean_macro_auc,
    resampled_macro_auc,
    rotated,
    scorable,
)
from marecg.model.card_figures import GroupFigure

AGES = (0, 40, 60, 80, 200)
"""The ends of the bands, in years."""
FEW = 5
"""Positives, and negatives, without which nothing is said of a class in a group."""


def age_bands(ages: "pd.Series[float]") -> "pd.Series[str]":
    """The band that each age lies in, such as `40–59`; missing where the age is."""
    names = [f"{low}–{high - 1}" if high < AGES[-1] else f"{low}+" for low, high in pairwise(AGES)]
    return pd.cut(ages, AGES, right=False, labels=names).astype(object)


def scored(
    y_MK: NDArray[np.uint8], logits_SMK: Floats, rotation_M: Rotations = None
) -> tuple[float, float, float]:
    """The macro AUC of a few classes or records with its interval: mean over draws, low, high.

    By those rotations in which a class can be told at all.
    """
    y_MK, logits_SMK, rotation_M = _scorable(y_MK, logits_SMK, rotation_M)
    resamples = resampled_macro_auc(y_MK, logits_SMK, rotation_M=rotation_M)
    return mean_macro_auc(y_MK, logits_SMK, rotation_M), *interval(resamples)


def _scorable(
    y_MK: NDArray[np.uint8], logits_SMK: Floats, rotation_M: Rotations
) -> tuple[NDArray[np.uint8], Floats, Rotations]:
    """The records of those rotations in which a class can be told at all."""
    if rotation_M is None:
        return y_MK, logits_SMK, None
    rows = np.concatenate([each for each in rotated(rotation_M) if scorable(y_MK[each]).any()])
    return y_MK[rows], logits_SMK[:, rows], np.unique(rotation_M[rows], return_inverse=True)[1]


def group_figures(
    people: Mapping[str, Sequence[object]],
    y_MK: NDArray[np.uint8],
    logits_SMK: Floats,
    rotation_M: Rotations = None,
) -> tuple[GroupFigure, ...]:
    """The macro AUC of each group, over the classes that it has enough of; nothing where there is one group.

    Args:
        people: by `age`, `sex`, `source` and the like, what is known of the M records, None where nothing is.
    """
    frame = pd.DataFrame(dict(people), dtype=object)
    if "age" in frame:
        frame["age"] = age_bands(pd.to_numeric(frame["age"]))
    figures: list[GroupFigure] = []
    for kind, values in frame.items():
        names = sorted(values.dropna().unique())
        for name in names if len(names) > 1 else ():
            rows = np.flatnonzero(values == name)
            positives_K = y_MK[rows].sum(axis=0, dtype=np.int64)
            classes = np.flatnonzero(np.minimum(positives_K, len(rows) - positives_K) >= FEW)
            if not len(classes):
                continue
            rotations = None if rotation_M is None else rotation_M[rows]
            auc, low, high = scored(
                y_MK[np.ix_(rows, classes)], logits_SMK[:, rows][:, :, classes], rotations
            )
            of_all = _scorable(y_MK[:, classes], logits_SMK[:, :, classes], rotation_M)
            figures.append(
                GroupFigure(
                    kind=str(kind),
                    name=str(name),
                    records=len(rows),
                    classes=len(classes),
                    auc=auc,
                    low=low,
                    high=high,
                    everyone=mean_macro_auc(*of_all),
                )
            )
    return tuple(figures)
