"""The linear probe: a logistic regression per class on frozen features, or MiniRocket's ridge regression.

Shapes: M records, K classes, F features, G eigenvalues, S strengths.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from marecg.base.errors import InputError
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable
from marecg.use.logistic import span

STRENGTHS = tuple(10.0**exponent for exponent in range(-5, 3))
"""The candidates for C, the inverse of the L2 strength, strongest first."""
PATIENCE = 3
"""After so many strengths without a gain on val, weaker ones are not tried."""
COARSE, EXACT = 1e-5, 1e-8
"""The largest slope left, per record: while strengths are compared, and for the chosen one."""
LONGEST = 5000
"""Steps of a fit at most."""
UNSEEN_LOGIT = -1e3
"""The logit of a class that the training records don't show: the same for every record, so its AUC is ½."""


@dataclass(frozen=True)
class Part:
    """The features (float) [M, F] and labels uint8 [M, K] of one part of a task.

    `weight_F` is what features are multiplied by once they are standardised, if by anything.
    """

    x_MF: NDArray[np.floating]
    y_MK: NDArray[np.uint8]
    weight_F: NDArray[np.floating] | None = None

    def scaler(self) -> StandardScaler:
        """What standardises features on this part, and weighs them."""
        scaler = StandardScaler().fit(self.x_MF.astype(np.float64))
        if self.weight_F is not None:
            scaler.scale_ = scaler.scale_ / self.weight_F
        return scaler


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


@dataclass(frozen=True)
class FittedProbe:
    """Anything that scores, with what was chosen for it; see `Chosen`."""

    chosen: float
    val_auc: float
    untrained: tuple[int, ...]
    _scorer: Scorer

    def logits(self, x_MF: NDArray[np.floating]) -> Floats:
        """Logits [M, K] of any records."""
        return self._scorer.logits(x_MF)


Choose = Callable[[Part, Part], Chosen]
"""Fits on the first part and chooses on the second; the test part is out of its reach."""


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
    """Standardise on train, fit at ever weaker strengths, and keep the one with the best macro AUC on val.

    One strength serves all classes; of equal ones the strongest is kept. The search ends after `PATIENCE`
    strengths without a gain. Fits are coarse while they are compared; the chosen one is then made exact.

    Raises:
        InputError: no class has both positives and negatives in val, so nothing can be chosen there.
    """
    check_labels(val.y_MK, "validation")
    scaler = train.scaler()
    x_MF = scaler.transform(train.x_MF.astype(np.float64))
    basis = span(x_MF)
    x_MF = x_MF if basis is None else x_MF @ basis
    shown = np.flatnonzero(scorable(train.y_MK))
    untrained = tuple(sorted(set(range(train.y_MK.shape[1])) - set(shown.tolist())))
    by_class = {int(k): LogisticRegression(max_iter=LONGEST, warm_start=True) for k in shown}

    def probe(strength: float, tolerance: float) -> Probe:
        weight_FK = np.zeros((x_MF.shape[1], train.y_MK.shape[1]))
        bias_K = np.full(train.y_MK.shape[1], UNSEEN_LOGIT)
        with warnings.catch_warnings():  # the best that rounding allows is good enough
            warnings.simplefilter("ignore", ConvergenceWarning)
            for k, regression in by_class.items():
                regression.set_params(C=strength, tol=tolerance).fit(x_MF, train.y_MK[:, k])
                weight_FK[:, k], bias_K[k] = regression.coef_[0], regression.intercept_[0]
        weight_FK = weight_FK if basis is None else basis @ weight_FK
        fitted = Probe(strength, 0.0, untrained, scaler, weight_FK, bias_K)
        return replace(fitted, val_auc=macro_auc(val.y_MK, fitted.logits(val.x_MF)))

    best: Probe | None = None
    behind = 0
    for strength in strengths:
        tried = probe(strength, COARSE)
        if best is None or tried.val_auc > best.val_auc:
            best, behind = tried, 0
        else:
            behind += 1
        if behind == PATIENCE:
            break
    assert best is not None, "no strengths to choose from"
    return probe(best.chosen, EXACT)


def check_labels(y_MK: NDArray[np.uint8], part: str) -> None:
    """See that something can be told on a part.

    Raises:
        InputError: no class has both positives and negatives there.
    """
    if not scorable(y_MK).any():
        raise InputError(
            f"none of the {len(y_MK)} {part} records tells two classes apart",
            remedy=f"Give more records of the {part} part",
        )


ALPHAS = tuple(10.0**exponent for exponent in range(6, -3, -1))
"""The candidates for α, strongest first; Dempster et al. 2021 use 10⁻³ … 10³ on unscaled features."""


def choose_ridge(train: Part, val: Part) -> Probe:
    """Standardise on train, fit at every α by one eigendecomposition, keep the best on val.

    Raises:
        InputError: no class has both positives and negatives in val.
    """
    check_labels(val.y_MK, "validation")
    scaler = train.scaler()
    x_MF, val_x_MF = (scaler.transform(part.x_MF.astype(np.float64)) for part in (train, val))
    target_MK = 2.0 * train.y_MK - 1
    bias_K = target_MK.mean(axis=0)
    basis_FG, projected_GK, eigenvalue_G = _decompose(x_MF, target_MK - bias_K)
    shrink_SG = 1 / (eigenvalue_G + np.array(ALPHAS)[:, None])
    seen_MG = val_x_MF @ basis_FG
    auc_S = [macro_auc(val.y_MK, seen_MG @ (shrink_G[:, None] * projected_GK)) for shrink_G in shrink_SG]
    best = int(np.argmax(auc_S))
    weight_FK = basis_FG @ (shrink_SG[best][:, None] * projected_GK)
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable(train.y_MK)))
    return Probe(ALPHAS[best], auc_S[best], untrained, scaler, weight_FK, bias_K)


def _decompose(x_MF: Floats, target_MK: Floats) -> tuple[Floats, Floats, Floats]:
    """(basis [F, G], projected targets [G, K], eigenvalues [G]): the weights are basis · projected / (λ + α).

    By the smaller of the two Gram matrices: with fewer records than features that of the records.
    """
    if len(x_MF) <= x_MF.shape[1]:
        eigenvalue_G, u_MG = np.linalg.eigh(x_MF @ x_MF.T)
        return x_MF.T @ u_MG, u_MG.T @ target_MK, eigenvalue_G.clip(0)
    eigenvalue_G, v_FG = np.linalg.eigh(x_MF.T @ x_MF)
    return v_FG, v_FG.T @ (x_MF.T @ target_MK), eigenvalue_G.clip(0)
