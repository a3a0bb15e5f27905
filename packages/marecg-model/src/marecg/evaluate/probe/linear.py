"""Linear probes on frozen features: logistic regression per class, or MiniRocket's ridge regression.

Shapes: M records, K classes, F features, G eigenvalues, S strengths, V views.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from marecg.errors import InputError
from marecg.evaluate.scores.metrics import Floats, macro_auc, scorable

STRENGTHS = tuple(10.0**exponent for exponent in range(-5, 3))
"""The candidates for C, the inverse of the L2 strength, strongest first."""
PATIENCE_STRENGTHS = 3
"""After so many strengths without a gain on val, weaker ones are not tried."""
COARSE, EXACT = 1e-5, 1e-8
"""The largest slope left, per record: while strengths are compared, and for the chosen one."""
LONGEST = 5000
"""Steps of a fit at most."""
UNSEEN_LOGIT = -1e3
"""The logit of a class that the training records don't show: the same for every record, so its AUC is ½."""
ALPHAS = tuple(10.0**exponent for exponent in range(6, -3, -1))
"""The candidates for α, strongest first; Dempster et al. 2021 use 10⁻³ … 10³ on unscaled features."""


@dataclass(frozen=True)
class Part:
    """Part of a task: features (float) [M, F] and labels uint8 [M, K] of its records.

    `weight_F` is what features are multiplied by once they are standardised, if by anything. With
    `class_wise` the last K features are each read by one class alone: they say what is known of it without a
    label. `note` is called with what is being fitted on the part, for whoever shows it.
    """

    x_MF: NDArray[np.floating]
    y_MK: NDArray[np.uint8]
    weight_F: NDArray[np.floating] | None = None
    class_wise: bool = False
    note: Callable[[str], None] = lambda text: None

    def records(self, rows: NDArray[np.integer]) -> "Part":
        """Return the part with selected records."""
        return replace(self, x_MF=self.x_MF[rows], y_MK=self.y_MK[rows])

    def places(self, columns: slice, class_wise: bool) -> NDArray[np.int64]:
        """Return the numbers of selected features, followed by those of the classes' own if asked for."""
        count = self.x_MF.shape[1]
        of_classes = range(count - self.y_MK.shape[1], count) if class_wise and self.class_wise else ()
        return np.array([*range(*columns.indices(count)), *of_classes])

    def only(self, places_F: NDArray[np.int64], class_wise: bool) -> "Part":
        """Return the part with the features of `places`."""
        weight_F = None if self.weight_F is None else self.weight_F[places_F]
        class_wise = class_wise and self.class_wise
        return replace(self, x_MF=self.x_MF[:, places_F], weight_F=weight_F, class_wise=class_wise)

    def scaler(self) -> StandardScaler:
        """Fit the standardisation of features on this part, and multiply it by their weights."""
        scaler = StandardScaler().fit(self.x_MF.astype(np.float64))
        if self.weight_F is not None:
            scaler.scale_ = scaler.scale_ / self.weight_F
        return scaler


@dataclass(frozen=True)
class Fitted:
    """Fitted classifier with its chosen strength.

    Attributes:
        chosen: what was chosen on val, such as C.
        val_auc: the macro AUC there, by which it was chosen.
        untrained: the classes (by number) without positives or negatives in train.
        logits: [M, K] of what it was fitted on, be it features or numbers of records.
    """

    chosen: float
    val_auc: float
    untrained: tuple[int, ...]
    logits: Callable[[NDArray[Any]], Floats]


Choose = Callable[[Part, Part], Fitted]
"""Fits on the first part and chooses on the second; the test part is out of its reach."""


def _linear(scaler: StandardScaler, weight_FK: Floats, bias_K: Floats) -> Callable[[NDArray[Any]], Floats]:
    """Return the function from features to logits [M, K]."""
    return lambda x_MF: np.asarray(scaler.transform(x_MF.astype(np.float64)) @ weight_FK + bias_K)


def choose_logistic(train: Part, val: Part, strengths: tuple[float, ...] = STRENGTHS) -> Fitted:
    """Standardise on train, fit decreasing strengths, and keep the best macro AUC on validation.

    One strength serves all classes; of equal ones the strongest is kept. The search ends `PATIENCE_STRENGTHS`
    after the last gain. Fits are coarse while they are compared; the chosen one is then made exact. With
    features of the classes' own, reading them and doing without are compared in the same way; a class that
    train doesn't show has its own feature, standardised around the odds of ½ positive in one more record,
    as its logit where that varies. Raises `InputError` where no class
    has both positives and negatives in val, so nothing can be chosen there.
    """
    check_labels(val.y_MK, "validation")
    scaler = train.scaler()
    x_MF = scaler.transform(train.x_MF.astype(np.float64))
    classes = train.y_MK.shape[1]
    x_MF, own_MK = np.split(x_MF, [x_MF.shape[1] - (classes if train.class_wise else 0)], axis=1)
    basis = span(x_MF)
    x_MF = x_MF if basis is None else x_MF @ basis
    speaks_K: NDArray[np.bool_] = np.any(own_MK, axis=0) if train.class_wise else np.zeros(classes, bool)
    spread_K = np.ones(classes) if train.weight_F is None else train.weight_F[-classes:]
    shown_K = scorable(train.y_MK)
    untrained = tuple(int(k) for k in np.flatnonzero(~shown_K & ~speaks_K))

    def probe(by_class: dict[int, LogisticRegression], read_own: bool, strength: float, tol: float) -> Fitted:
        weight_FK, own_K = np.zeros((x_MF.shape[1], classes)), speaks_K / spread_K
        bias_K: Floats = np.full(classes, UNSEEN_LOGIT)
        bias_K[speaks_K] = -np.log(2 * len(x_MF) + 1)  # the log odds of ½ in one more record than there are
        with warnings.catch_warnings():  # the best that rounding allows is good enough
            warnings.simplefilter("ignore", ConvergenceWarning)
            for k, regression in by_class.items():
                train.note(f"{len(x_MF):,} records, strength {strength:g}, class {k + 1} of {classes}")
                read_MF = np.c_[x_MF, own_MK[:, k]] if read_own else x_MF
                regression.set_params(C=strength, tol=tol).fit(read_MF, train.y_MK[:, k])
                weight_FK[:, k] = regression.coef_[0, : x_MF.shape[1]]
                bias_K[k] = regression.intercept_[0]
                own_K[k] = regression.coef_[0, -1] if read_own else 0
        weight_FK = weight_FK if basis is None else basis @ weight_FK
        logits = _linear(scaler, np.r_[weight_FK, np.diag(own_K)] if train.class_wise else weight_FK, bias_K)
        return Fitted(strength, macro_auc(val.y_MK, logits(val.x_MF)), untrained, logits)

    def best_strength(read_own: bool) -> Fitted:
        shown = np.flatnonzero(shown_K).tolist()
        by_class = {k: LogisticRegression(max_iter=LONGEST, warm_start=True) for k in shown}
        best: Fitted | None = None
        behind = 0
        for strength in strengths:
            tried = probe(by_class, read_own, strength, COARSE)
            if best is None or tried.val_auc > best.val_auc:
                best, behind = tried, 0
            else:
                behind += 1
            if behind == PATIENCE_STRENGTHS:
                break
        assert best is not None, "no strengths to choose from"
        return probe(by_class, read_own, best.chosen, EXACT)

    fits = map(best_strength, (True, False) if speaks_K.any() else (False,))
    return max(fits, key=lambda fitted: fitted.val_auc)


def choose_averaged(train: Part, val: Part, views: Sequence[tuple[slice, bool]]) -> Fitted:
    """Fit a logistic regression per view; average their logits, standardised on validation.

    A view is some columns, and whether it starts from what is known of the classes without a label. The
    average has the mean and spread of the views' logits, so that a threshold means the same for all classes;
    of one class no record passes another. A view whose logits are all alike doesn't count for that class.
    `chosen` and `untrained` are those of the first view. Raises as `choose_logistic` does.
    """
    places = [train.places(columns, class_wise) for columns, class_wise in views]
    fits = [
        choose_logistic(train.only(places_F, class_wise), val.only(places_F, class_wise))
        for places_F, (_, class_wise) in zip(places, views, strict=True)
    ]

    def logits_by_view(x_MF: NDArray[np.floating]) -> Floats:
        return np.stack([fit.logits(x_MF[:, places_F]) for fit, places_F in zip(fits, places, strict=True)])

    seen_VMK = logits_by_view(val.x_MF)
    middle_VK, spread_VK = seen_VMK.mean(axis=1), seen_VMK.std(axis=1)
    counts_VK = (spread_VK > 0) | ~(spread_VK > 0).any(axis=0)
    share_VK = counts_VK / counts_VK.sum(axis=0)
    usual_K, scale_K = (share_VK * middle_VK).sum(axis=0), (share_VK * spread_VK).sum(axis=0)
    middle_V1K, spread_V1K = middle_VK[:, None], np.where(spread_VK > 0, spread_VK, 1)[:, None]

    def logits(x_MF: NDArray[np.floating]) -> Floats:
        standard_VMK = (logits_by_view(x_MF) - middle_V1K) / spread_V1K
        return np.asarray(usual_K + scale_K * (share_VK[:, None] * standard_VMK).sum(axis=0))

    return Fitted(fits[0].chosen, macro_auc(val.y_MK, logits(val.x_MF)), fits[0].untrained, logits)


def span(x_MF: Floats) -> Floats | None:
    """Return an orthonormal basis [F, M] of M vectors; None unless they are fewer than their values.

    The weights of least L2 norm lie there, so a fit on `x_MF @ span` is the same, and cheaper.
    """
    return np.linalg.qr(x_MF.T)[0] if len(x_MF) < x_MF.shape[1] else None


def check_labels(y_MK: NDArray[np.uint8], part: str) -> None:
    """Check that at least one class can be scored on a part.

    Raises:
        InputError: no class has both positives and negatives there.
    """
    if not scorable(y_MK).any():
        raise InputError(
            f"none of the {len(y_MK)} {part} records tells two classes apart",
            remedy=f"Give more records of the {part} part",
        )


def choose_ridge(train: Part, val: Part) -> Fitted:
    """Standardise on train, fit every α by one eigendecomposition, and keep the best on validation.

    Raises `InputError` where no class has both positives and negatives in val.
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
    return Fitted(ALPHAS[best], auc_S[best], untrained, _linear(scaler, weight_FK, bias_K))


def _decompose(x_MF: Floats, target_MK: Floats) -> tuple[Floats, Floats, Floats]:
    """(basis [F, G], projected targets [G, K], eigenvalues [G]): the weights are basis · projected / (λ + α).

    By the smaller of the two Gram matrices: with fewer records than features that of the records.
    """
    if len(x_MF) <= x_MF.shape[1]:
        eigenvalue_G, u_MG = np.linalg.eigh(x_MF @ x_MF.T)
        return x_MF.T @ u_MG, u_MG.T @ target_MK, eigenvalue_G.clip(0)
    eigenvalue_G, v_FG = np.linalg.eigh(x_MF.T @ x_MF)
    return v_FG, v_FG.T @ (x_MF.T @ target_MK), eigenvalue_G.clip(0)
