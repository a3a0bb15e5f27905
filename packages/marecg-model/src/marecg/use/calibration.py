"""From logits to probabilities that come true, and the probability above which a class is called.

Shapes: M records, N knots of an isotonic curve.
"""

import re
from collections.abc import Callable
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import precision_recall_curve, roc_curve
from sklearn.model_selection import StratifiedKFold

from marecg.base.config import Settings
from marecg.base.errors import UsageError

Floats = NDArray[np.float64]
Kind = Literal["temperature", "isotonic"]
Method = Literal["best", "temperature", "isotonic", "none"]
PARTS = 5
"""Of validation, for a cross-validated log loss; a class with fewer positives or negatives isn't compared."""


class Calibration(Settings):
    """A class's probability by its logit: σ(slope · logit + shift), or an isotonic curve through knots.

    A `temperature` (1 / slope) has a shift, too (Platt 1999), for a prior that weights of classes have moved;
    `values` are the probability at each knot, straight between them, level beyond. The kind was chosen by
    `log_loss`, cross-validated within validation.
    """

    kind: Literal["temperature", "isotonic", "none"] = "none"
    slope: float = 1.0
    shift: float = 0.0
    knots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    log_loss: dict[str, float] = {}  # noqa: RUF012 (a field of pydantic's)

    @model_validator(mode="after")
    def _check(self) -> Self:
        rising = all(np.all(np.diff(each) >= 0) for each in (self.knots, self.values))
        within = all(0 <= value <= 1 for value in self.values)
        whole = (self.kind == "isotonic") == bool(self.knots) and len(self.knots) == len(self.values)
        if not (rising and within and whole and self.slope > 0):
            raise ValueError("a calibration isn't a rising curve of probabilities")
        return self

    def __call__(self, logit_M: Floats) -> Floats:
        """Probabilities [M]."""
        if self.kind == "isotonic":
            return np.interp(logit_M, self.knots, self.values)
        return np.asarray(expit(self.slope * logit_M + self.shift))


def calibrate(logit_M: Floats, y_M: NDArray[np.floating], method: Method = "best") -> Calibration:
    """Fit a class's calibration on the logits of records that it wasn't trained on, and their labels, 0 or 1.

    `best` takes the kind with the least log loss, cross-validated in `PARTS` parts of the records; with fewer
    positives or negatives than parts it is the temperature. Without both kinds of records there is none.
    """
    few = int(min(y_M.sum(), (1 - y_M).sum()))
    if few == 0 or method == "none":
        return Calibration()
    if method != "best":
        return FITS[method](logit_M, y_M)
    if few < PARTS:
        return _temperature(logit_M, y_M)
    parts = list(StratifiedKFold(PARTS, shuffle=True, random_state=0).split(logit_M, y_M))
    losses: dict[str, float] = {}
    for kind, fit in FITS.items():
        p_M = np.empty(len(y_M))
        for fitted, judged in parts:
            p_M[judged] = fit(logit_M[fitted], y_M[fitted])(logit_M[judged])
        losses[kind] = log_loss(y_M, p_M)
    best: Kind = min(FITS, key=lambda kind: losses[kind])
    return FITS[best](logit_M, y_M).model_copy(update={"log_loss": losses})


def log_loss(y_M: NDArray[np.floating], p_M: Floats) -> float:
    """The mean cross-entropy of probabilities; none of them counts as surer than float64 tells from 1."""
    p_M = p_M.clip(1e-12, 1 - 1e-12)
    return float(-(y_M * np.log(p_M) + (1 - y_M) * np.log1p(-p_M)).mean())


def _temperature(logit_M: Floats, y_M: NDArray[np.floating]) -> Calibration:
    """Slope and shift by Platt's smoothed targets, which keep separable records from infinity."""
    positives, negatives = y_M.sum(), (1 - y_M).sum()
    target_M = np.where(y_M == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(theta: Floats) -> tuple[float, Floats]:
        slope = np.exp(theta[0])
        z_M = slope * logit_M + theta[1]
        error_M = expit(z_M) - target_M
        value = (np.logaddexp(0, z_M) - target_M * z_M).mean()
        return float(value), np.array([(error_M * slope * logit_M).mean(), error_M.mean()])

    theta = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-7, 7), (-50, 50)]).x
    return Calibration(kind="temperature", slope=float(np.exp(theta[0])), shift=float(theta[1]))


def _isotonic(logit_M: Floats, y_M: NDArray[np.floating]) -> Calibration:
    """A rising curve; no farther from the ends than as many records can tell."""
    least = 1 / (len(y_M) + 2)
    curve = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(logit_M, y_M)
    knots, values = (tuple(map(float, each)) for each in (curve.X_thresholds_, curve.y_thresholds_))
    return Calibration(kind="isotonic", knots=knots, values=values)


FITS: dict[Kind, Callable[[Floats, NDArray[np.floating]], Calibration]] = {
    "temperature": _temperature,
    "isotonic": _isotonic,
}
_RULE = re.compile(r"youden|f1|(sensitivity|specificity)=(0?\.\d+|1|1\.0)")


def check_rule(rule: str) -> None:
    """See that there is such a rule for a threshold. Raises `UsageError`."""
    if not _RULE.fullmatch(rule):
        remedy = "Choose youden, f1, sensitivity=.9 or specificity=.95"
        raise UsageError(f"there is no rule {rule!r} for a threshold", remedy=remedy)


def threshold(rule: str, y_M: NDArray[np.floating], p_M: Floats) -> float:
    """The probability from which on a class is called; ½ where the records are all of one kind.

    `youden` takes the largest sensitivity + specificity, `f1` the largest F1, `sensitivity=S` the highest
    threshold that finds a share S of the positives, `specificity=S` the lowest that lets that share of the
    negatives pass.
    """
    check_rule(rule)
    if y_M.all() or not y_M.any():
        return 0.5
    if rule == "f1":
        precision, recall, cuts = precision_recall_curve(y_M, p_M)
        score = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        return float(cuts[score[:-1].argmax()])
    false_rate, true_rate, cuts = roc_curve(y_M, p_M, drop_intermediate=False)  # cuts fall
    cuts = cuts.clip(max=1)
    if rule == "youden":
        return float(cuts[(true_rate - false_rate).argmax()])
    name, _, share = rule.partition("=")
    if name == "sensitivity":
        return float(cuts[np.flatnonzero(true_rate >= float(share))[0]])
    return float(cuts[np.flatnonzero(1 - false_rate >= float(share))[-1]])
