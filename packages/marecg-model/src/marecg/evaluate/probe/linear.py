"""Fit linear probes on frozen features: logistic regression per class, or ridge regression for MiniRocket.

The strength of the regularisation is chosen on the validation records (val). A view is a range of the
features with a classifier of its own.

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
"""Candidates for C, the inverse of the L2 strength. The first candidate regularises most."""
PATIENCE_STRENGTHS = 3
"""Number of strengths without improvement on val, after which the search stops."""
COARSE, EXACT = 1e-5, 1e-8
"""Largest gradient per record at which a fit stops: during the search, and for the chosen strength."""
LONGEST = 5000
"""Maximum number of steps of a fit."""
UNSEEN_LOGIT = -1e3
"""Logit of a class without training examples. It is the same for every record, so the AUC is ½."""
ALPHAS = tuple(10.0**exponent for exponent in range(6, -3, -1))
"""Candidates for α, the penalty of ridge regression, from the largest to the smallest.

Dempster et al. 2021 use 10⁻³ … 10³ on unscaled features.
"""


@dataclass(frozen=True)
class Part:
    """Features and labels of a part of a task's records.

    Attributes:
        x_MF: features.
        y_MK: labels, 0 or 1.
        weight_F: factors by which the standardised features are multiplied, if any.
        class_wise: whether the last K features belong to one class each, for example its concept score. Only
            the class's own classifier reads the feature.
        note: function that shows the current fit to the user. It is called with a description of each fit.
    """

    x_MF: NDArray[np.floating]
    y_MK: NDArray[np.uint8]
    weight_F: NDArray[np.floating] | None = None
    class_wise: bool = False
    note: Callable[[str], None] = lambda text: None

    def records(self, rows: NDArray[np.integer]) -> "Part":
        """Return the part with selected records."""
        return replace(self, x_MF=self.x_MF[rows], y_MK=self.y_MK[rows])

    def feature_numbers(self, columns: slice, class_wise: bool) -> NDArray[np.int64]:
        """Return the numbers of the columns in `columns` and, if requested, of the class-wise features."""
        count = self.x_MF.shape[1]
        of_classes = range(count - self.y_MK.shape[1], count) if class_wise and self.class_wise else ()
        return np.array([*range(*columns.indices(count)), *of_classes])

    def only(self, number_F: NDArray[np.int64], class_wise: bool) -> "Part":
        """Return the part with only the features `number_F`, which come from `feature_numbers`."""
        weight_F = None if self.weight_F is None else self.weight_F[number_F]
        class_wise = class_wise and self.class_wise
        return replace(self, x_MF=self.x_MF[:, number_F], weight_F=weight_F, class_wise=class_wise)

    def scaler(self) -> StandardScaler:
        """Return a scaler that standardises features by this part, and then multiplies them by `weight_F`."""
        scaler = StandardScaler().fit(self.x_MF.astype(np.float64))
        if self.weight_F is not None:
            scaler.scale_ = scaler.scale_ / self.weight_F
        return scaler


@dataclass(frozen=True)
class Fitted:
    """Fitted classifier, and the strength or epoch that was chosen on val.

    Attributes:
        chosen: strength (a value of `STRENGTHS` or `ALPHAS`) or number of the epoch.
        val_auc: macro AUC on val with this value.
        untrained: numbers of the classes that couldn't be fitted, for example because train has no positives.
        logits: function from features [M, F] to logits [M, K]. If a `protocol.Learn` made the classifier, the
            argument is the numbers of the records instead.
    """

    chosen: float
    val_auc: float
    untrained: tuple[int, ...]
    logits: Callable[[NDArray[Any]], Floats]


Choose = Callable[[Part, Part], Fitted]
"""Function that fits a classifier, and chooses its strength or epoch.

The arguments are the training part and the validation part. The function has no access to the test part.
"""


def _linear(scaler: StandardScaler, weight_FK: Floats, bias_K: Floats) -> Callable[[NDArray[Any]], Floats]:
    """Return a function that standardises features, and computes logits [M, K] from weights and biases."""
    return lambda x_MF: np.asarray(scaler.transform(x_MF.astype(np.float64)) @ weight_FK + bias_K)


def choose_logistic(train: Part, val: Part, strengths: tuple[float, ...] = STRENGTHS) -> Fitted:
    """Standardise on train, fit with each strength in turn, and keep the best macro AUC on validation.

    A strength is a value of scikit-learn's C, so the smallest value regularises most. `strengths` are in
    ascending order. All classes use the same strength. If strengths are equally good, the first is kept. The
    search stops `PATIENCE_STRENGTHS` strengths after the last improvement. Fits are coarse during the search.
    The fit at the chosen strength is then repeated with a small tolerance.

    With class-wise features, the best fit with them and the best fit without them are compared on validation.

    A class without positives or without negatives in train can't be fitted. Its logit is `UNSEEN_LOGIT`. But
    if its class-wise feature varies, the logit is the standardised feature minus log(2M + 1).

    Raises:
        InputError: no class has both positives and negatives in val, so val can't choose.
    """
    check_labels(val.y_MK, "validation")
    scaler = train.scaler()
    x_MF = scaler.transform(train.x_MF.astype(np.float64))
    classes = train.y_MK.shape[1]
    x_MF, own_MK = np.split(x_MF, [x_MF.shape[1] - (classes if train.class_wise else 0)], axis=1)
    basis = span(x_MF)
    x_MF = x_MF if basis is None else x_MF @ basis
    varies_K: NDArray[np.bool_] = np.any(own_MK, axis=0) if train.class_wise else np.zeros(classes, bool)
    spread_K = np.ones(classes) if train.weight_F is None else train.weight_F[-classes:]
    scorable_K = scorable(train.y_MK)
    untrained = tuple(int(k) for k in np.flatnonzero(~scorable_K & ~varies_K))

    def probe(by_class: dict[int, LogisticRegression], read_own: bool, strength: float, tol: float) -> Fitted:
        weight_FK, own_K = np.zeros((x_MF.shape[1], classes)), varies_K / spread_K
        bias_K: Floats = np.full(classes, UNSEEN_LOGIT)
        bias_K[varies_K] = -np.log(2 * len(x_MF) + 1)  # log odds of ½ positive among M + 1 records
        with warnings.catch_warnings():  # convergence up to rounding is enough
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
        trainable = np.flatnonzero(scorable_K).tolist()
        by_class = {k: LogisticRegression(max_iter=LONGEST, warm_start=True) for k in trainable}
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

    fits = map(best_strength, (True, False) if varies_K.any() else (False,))
    return max(fits, key=lambda fitted: fitted.val_auc)


def choose_averaged(train: Part, val: Part, views: Sequence[tuple[slice, bool]]) -> Fitted:
    """Fit a logistic regression for each view, and average their logits after standardising them.

    The logits of each view are standardised on validation. For each class, the average is rescaled to the
    mean and spread of the views' logits, so that classes can be compared. Rescaling doesn't change the
    ranking of records within a class. A view with constant logits for a class is ignored for this class.
    `chosen` and `untrained` come from the first view. Raises the errors of `choose_logistic`.

    Args:
        train: records to fit on.
        val: records to choose on.
        views: columns of each view, and whether it also reads the class-wise features.
    """
    numbers = [train.feature_numbers(columns, class_wise) for columns, class_wise in views]
    fits = [
        choose_logistic(train.only(number_F, class_wise), val.only(number_F, class_wise))
        for number_F, (_, class_wise) in zip(numbers, views, strict=True)
    ]

    def logits_by_view(x_MF: NDArray[np.floating]) -> Floats:
        return np.stack([fit.logits(x_MF[:, number_F]) for fit, number_F in zip(fits, numbers, strict=True)])

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
    """Return an orthonormal basis [F, M] of the span of M vectors, or None if there are at least F vectors.

    Regularised weights lie in this span. So a fit on `x_MF @ basis` gives the same logits and is cheaper.
    """
    return np.linalg.qr(x_MF.T)[0] if len(x_MF) < x_MF.shape[1] else None


def check_labels(y_MK: NDArray[np.uint8], part: str) -> None:
    """Raise `InputError` if no class has both positives and negatives in a part."""
    if not scorable(y_MK).any():
        problem = f"a class must have positives and negatives among the {len(y_MK)} {part} records, got none"
        raise InputError(problem, remedy=f"Give more {part} records")


def choose_ridge(train: Part, val: Part) -> Fitted:
    """Fit ridge regression for each of `ALPHAS`, and keep the best macro AUC on validation.

    Features are standardised on train. All fits share an eigendecomposition.

    Raises `InputError` if no class has both positives and negatives in val.
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
    """Return a basis [F, G], projected targets [G, K], and eigenvalues λ [G].

    The weights of ridge regression are basis · projected / (λ + α). The eigenvalues come from the Gram matrix
    of the records (M × M) or of the features (F × F), whichever is smaller.
    """
    if len(x_MF) <= x_MF.shape[1]:
        eigenvalue_G, u_MG = np.linalg.eigh(x_MF @ x_MF.T)
        return x_MF.T @ u_MG, u_MG.T @ target_MK, eigenvalue_G.clip(0)
    eigenvalue_G, v_FG = np.linalg.eigh(x_MF.T @ x_MF)
    return v_FG, v_FG.T @ (x_MF.T @ target_MK), eigenvalue_G.clip(0)
