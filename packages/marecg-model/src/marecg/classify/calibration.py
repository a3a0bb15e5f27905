"""Calibration of logits to probabilities, and thresholds at which a class is called.

Shapes: M records, K classes, N knots of an isotonic curve.
"""

import re
from typing import Annotated, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import precision_recall_curve, roc_curve
from sklearn.model_selection import StratifiedKFold

from marecg.errors import UsageError
from marecg.settings import FromZero, Settings, Share

Floats = NDArray[np.float64]
Kind = Literal["none", "temperature", "isotonic"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Method = Literal["best", "temperature", "isotonic", "none"]
PARTS = 5
"""Parts of the validation records for a cross-validated log loss.

For a class with fewer positives or negatives than parts, kinds of calibration are not compared.
"""
CURVED = 50
"""Least number of positives and of negatives for an isotonic curve, because it has no prior."""
DOUBT = 0.5
"""Standard deviation of the prior of ln(slope) and of the shift: the expected error of logits."""


LARGEST = 1e15
"""Maximum of a slope, a shift and a logit of a knot. Products of such numbers are finite."""


class Calibration(Settings):
    """Class probability by logit: σ(slope · logit + shift), or an isotonic curve through knots.

    Attributes:
        kind: `none` for σ(logit), `temperature` for slope and shift, or `isotonic`.
        slope: 1 / temperature.
        shift: undoes a change of the prior by class weights (Platt 1999).
        knots: logits at which the isotonic curve has a knot.
        values: probability at each knot. The curve is linear between knots and constant beyond them.
        log_loss: cross-validated log loss of each kind on the validation records, by which it was chosen.
    """

    kind: Kind = "none"
    slope: Annotated[float, Field(gt=0, le=LARGEST)] = 1.0
    shift: Annotated[float, Field(ge=-LARGEST, le=LARGEST)] = 0.0
    knots: tuple[Annotated[float, Field(ge=-LARGEST, le=LARGEST)], ...] = ()
    values: tuple[Share, ...] = ()
    log_loss: dict[str, FromZero] = {}  # noqa: RUF012 (a field of pydantic's)

    @model_validator(mode="after")
    def _check(self) -> Self:
        rising = all(np.all(np.diff(curve) >= 0) for curve in (self.knots, self.values))
        complete = (self.kind == "isotonic") == bool(self.knots) and len(self.knots) == len(self.values)
        if not (rising and complete):
            raise ValueError("a calibration isn't a rising curve of probabilities")
        return self

    def __call__(self, logit_M: Floats) -> Floats:
        """Return probabilities [M]."""
        if self.kind == "isotonic":
            return np.interp(logit_M, self.knots, self.values)
        return np.asarray(expit(self.slope * logit_M + self.shift))


def calibrate(
    logit_M: Floats, y_M: NDArray[np.floating], method: Method = "best", expected: float = 0.0
) -> Calibration:
    """Fit a class's calibration on logits and labels (0 or 1) of records outside of training.

    `best` keeps the logits unless another kind is better by more than a standard error of the log loss,
    cross-validated in `PARTS` parts of the records. With fewer positives or negatives than parts, it takes a
    temperature if a shift is expected, and otherwise keeps the logits.

    A temperature is regularised towards slope 1 and the shift `expected`. With fewer records, the effect is
    stronger. If all labels are equal, the result is no calibration.
    """
    few = int(min(y_M.sum(), (1 - y_M).sum()))
    if few == 0 or method == "none":
        return Calibration()
    if method != "best":
        return _fit(method, logit_M, y_M, expected)
    if few < PARTS:
        return _fit("temperature" if expected else "none", logit_M, y_M, expected)
    parts = list(StratifiedKFold(PARTS, shuffle=True, random_state=0).split(logit_M, y_M))
    losses: dict[Kind, Floats] = {}
    kinds = KINDS if few >= CURVED else KINDS[:2]
    for kind in kinds:
        p_M = np.empty(len(y_M))
        for fitted, judged in parts:
            p_M[judged] = _fit(kind, logit_M[fitted], y_M[fitted], expected)(logit_M[judged])
        losses[kind] = losses_of(y_M, p_M)
    best: Kind = "none"
    for kind in kinds[1:]:
        gain_M = losses[best] - losses[kind]
        if gain_M.mean() > gain_M.std() / np.sqrt(len(gain_M)):
            best = kind
    means = {kind: float(loss_M.mean()) for kind, loss_M in losses.items()}
    return _fit(best, logit_M, y_M, expected).model_copy(update={"log_loss": means})


def losses_of(y_M: NDArray[np.floating], p_M: Floats) -> Floats:
    """Return the cross-entropy of each record. Probabilities are clipped near 0 and 1."""
    p_M = p_M.clip(1e-12, 1 - 1e-12)
    return np.asarray(-(y_M * np.log(p_M) + (1 - y_M) * np.log1p(-p_M)))


def log_loss(y_M: NDArray[np.floating], p_M: Floats) -> float:
    """Return the mean cross-entropy of the records' probabilities."""
    return float(losses_of(y_M, p_M).mean())


def _fit(kind: Kind, logit_M: Floats, y_M: NDArray[np.floating], expected: float) -> Calibration:
    if kind == "none":
        return Calibration()
    return _isotonic(logit_M, y_M) if kind == "isotonic" else _temperature(logit_M, y_M, expected)


def _temperature(logit_M: Floats, y_M: NDArray[np.floating], expected: float) -> Calibration:
    """Fit the most probable slope and shift, with a prior around 1 and `expected` (`DOUBT`)."""
    prior = np.array([0.0, expected])

    def loss(theta: Floats) -> tuple[float, Floats]:
        slope = np.exp(theta[0])
        z_M = slope * logit_M + theta[1]
        error_M = expit(z_M) - y_M
        away = (theta - prior) / DOUBT
        value = (np.logaddexp(0, z_M) - y_M * z_M).sum() + (away**2).sum() / 2
        return float(value), np.array([(error_M * slope * logit_M).sum(), error_M.sum()]) + away / DOUBT

    theta = minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=[(-7, 7), (-50, 50)]).x
    return Calibration(kind="temperature", slope=float(np.exp(theta[0])), shift=float(theta[1]))


def _isotonic(logit_M: Floats, y_M: NDArray[np.floating]) -> Calibration:
    """Fit a rising curve, whose distance from 0 and 1 is at least 1 / (records + 2)."""
    least = 1 / (len(y_M) + 2)
    curve = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(logit_M, y_M)
    knots, values = (tuple(map(float, ends)) for ends in (curve.X_thresholds_, curve.y_thresholds_))
    return Calibration(kind="isotonic", knots=knots, values=values)


def called_classes(p_MK: Floats, threshold_K: Floats, *, several: bool) -> NDArray[np.bool_]:
    """Return the called classes, bool [M, K]: all classes that reach their thresholds, or the likeliest."""
    return np.asarray(p_MK >= threshold_K if several else np.arange(p_MK.shape[1]) == p_MK.argmax(1)[:, None])


FEW_POSITIVES = 10
"""Number of positives below which a threshold by `youden` or `f1` is shrunk."""
LEAST_ODDS = 1e-6
"""Smallest distance from 0 and 1 of a probability whose logit is taken."""
_RULE = re.compile(r"youden|f1|(sensitivity|specificity)=(0?\.\d+|1|1\.0)")


def check_rule(rule: str) -> None:
    """Check the name of a rule for thresholds. Raises `UsageError`."""
    if not _RULE.fullmatch(rule):
        remedy = "Choose youden, f1, sensitivity=.9 or specificity=.95"
        raise UsageError(f"unknown threshold rule {rule!r}", remedy=remedy)


def threshold(rule: str, y_M: NDArray[np.floating], p_M: Floats) -> float:
    """Return the lowest probability at which a class is called; ½ if all records have the same label.

    Rules:

    - `youden`: largest sum of sensitivity and specificity.
    - `f1`: largest F1.
    - `sensitivity=S`: highest threshold with at least this sensitivity.
    - `specificity=S`: lowest threshold with at least this specificity.

    With fewer than `FEW_POSITIVES` positives, `youden` and `f1` depend on single records. Their threshold is
    then shrunk, on the logit scale, towards the threshold that as many records reach as have the class.
    """
    check_rule(rule)
    if y_M.all() or not y_M.any():
        return 0.5
    if rule == "f1":
        precision, recall, cuts = precision_recall_curve(y_M, p_M)
        score = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
        return _shrunk(float(cuts[score[:-1].argmax()]), y_M, p_M)
    false_rate, true_rate, cuts = roc_curve(y_M, p_M, drop_intermediate=False)  # cuts fall
    cuts = cuts.clip(max=1)
    if rule == "youden":
        return _shrunk(float(cuts[(true_rate - false_rate).argmax()]), y_M, p_M)
    name, _, share = rule.partition("=")
    if name == "sensitivity":
        return float(cuts[np.flatnonzero(true_rate >= float(share))[0]])
    return float(cuts[np.flatnonzero(1 - false_rate >= float(share))[-1]])


def _shrunk(cut: float, y_M: NDArray[np.floating], p_M: Floats) -> float:
    """Return the threshold, shrunk if there are few positives. Each positive has a weight of a tenth."""
    positives = int(y_M.sum())
    as_many = float(np.sort(p_M)[-positives])
    if positives >= FEW_POSITIVES or cut == as_many:
        return cut
    of_rule, of_rate = logit(np.clip([cut, as_many], LEAST_ODDS, 1 - LEAST_ODDS))
    weight = positives / FEW_POSITIVES
    return float(expit(weight * of_rule + (1 - weight) * of_rate))
