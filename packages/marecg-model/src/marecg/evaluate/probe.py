"""The linear probe: one logistic regression per class on frozen features.

Shapes: M records, K classes, F features, G dimensions of their span, S strengths.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from marecg.errors import InputError
from marecg.evaluate.metrics import Floats, macro_auc, scorable

STRENGTHS = tuple(10.0**exponent for exponent in range(-5, 3))
"""The candidates for C, the inverse of the L2 strength, strongest first."""
NEVER = -1e3
"""The logit of a class that the training records don't show: the same for every record, so its AUC is ½."""


@dataclass(frozen=True)
class Part:
    """The features (float) [M, F] and labels uint8 [M, K] of one part of a task."""

    x_MF: NDArray[np.floating]
    y_MK: NDArray[np.uint8]


class Scorer(Protocol):
    """Anything that gives logits for features."""

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Features [M, F] → logits [M, K]."""


class Chosen(Scorer, Protocol):
    """A scorer, what was chosen for it, how good that was on val, and what it never saw."""

    @property
    def chosen(self) -> float:
        """The chosen value."""

    @property
    def val_auc(self) -> float:
        """The macro AUC on val, by which it was chosen."""

    @property
    def untrained(self) -> tuple[int, ...]:
        """The classes (by number) without positives or negatives in train."""


Choose = Callable[[Part, Part], Chosen]
"""Fits on the first part and chooses on the second; the test part is out of its reach."""


@dataclass
class SealedTest:
    """The test part, which is handed over once, to a probe that has been chosen."""

    _part: Part
    _open: bool = field(default=False, init=False)

    def score(self, probe: "Scorer") -> Floats:
        """The probe's logits [M, K] on the test records; a second call is a mistake in the protocol."""
        assert not self._open, "the test part was already scored"
        self._open = True
        return probe.logits(self._part.x_MF)


@dataclass(frozen=True)
class Probe:
    """A fitted probe.

    Attributes:
        chosen: C, or α for ridge.
        val_auc: the macro AUC on val, by which it was chosen.
        untrained: the classes (by number) without positives or negatives in train.
    """

    chosen: float
    val_auc: float
    untrained: tuple[int, ...]
    _scaler: StandardScaler
    _weight_FK: Floats
    _bias_K: Floats

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Logits [M, K] of any records."""
        return np.asarray(self._scaler.transform(x_MF.astype(np.float64)) @ self._weight_FK + self._bias_K)


def choose_logistic(train: Part, val: Part, strengths: tuple[float, ...] = STRENGTHS) -> Probe:
    """Standardise on train, fit on train at every strength, and keep the one with the best macro AUC on val.

    One strength serves all classes; of equal ones the strongest is kept.

    Raises:
        InputError: no class has both positives and negatives in val, so nothing can be chosen there.
    """
    check_val(val)
    scaler = StandardScaler().fit(train.x_MF.astype(np.float64))
    x_MF = scaler.transform(train.x_MF.astype(np.float64))
    val_x_MF = scaler.transform(val.x_MF.astype(np.float64))
    known_K = scorable(train.y_MK)
    weight_SFK, bias_SK = _fit_path(x_MF, train.y_MK, np.flatnonzero(known_K), strengths)
    auc_S = [
        macro_auc(val.y_MK, val_x_MF @ w_FK + b_K) for w_FK, b_K in zip(weight_SFK, bias_SK, strict=True)
    ]
    best = int(np.argmax(auc_S))
    untrained = tuple(int(k) for k in np.flatnonzero(~known_K))
    return Probe(strengths[best], auc_S[best], untrained, scaler, weight_SFK[best], bias_SK[best])


def check_val(val: Part) -> None:
    """See that something can be chosen on val.

    Raises:
        InputError: no class has both positives and negatives there.
    """
    if not scorable(val.y_MK).any():
        raise InputError(
            f"none of the {len(val.y_MK)} validation records tells two classes apart",
            remedy="Give more records of the validation part",
        )


def _fit_path(
    x_MF: Floats, y_MK: NDArray[np.uint8], known: NDArray[np.int64], strengths: tuple[float, ...]
) -> tuple[Floats, Floats]:
    """Weights [S, F, K] and biases [S, K] at S strengths, each fit starting from the stronger one before.

    With fewer records than features the fit happens in the span of the records, where the optimum lies.
    """
    span_FG = np.linalg.svd(x_MF, full_matrices=False)[2].T if x_MF.shape[0] < x_MF.shape[1] else None
    x_MG = x_MF if span_FG is None else x_MF @ span_FG
    weight_SFK = np.zeros((len(strengths), x_MF.shape[1], y_MK.shape[1]))
    bias_SK = np.full((len(strengths), y_MK.shape[1]), NEVER)
    for k in known:
        model = LogisticRegression(solver="newton-cholesky", warm_start=True)
        for s, strength in enumerate(strengths):
            model.set_params(C=strength).fit(x_MG, y_MK[:, k])
            weight_SFK[s, :, k] = model.coef_[0] if span_FG is None else span_FG @ model.coef_[0]
            bias_SK[s, k] = model.intercept_[0]
    return weight_SFK, bias_SK
