"""Calibrate logits to probabilities, and choose the thresholds at which classes are called.

A classifier *calls* a class if it reports the class as present.

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
"""Number of parts for the cross-validated log loss on the validation records.

The kinds of calibration are compared only for a class with at least `PARTS` positives and `PARTS` negatives.
"""
CURVED = 50
"""Minimum number of positives, and of negatives, for an isotonic curve.

An isotonic curve has no prior, so it would overfit to fewer records.
"""
DOUBT = 0.5
"""Standard deviation of the priors of ln(slope) and of the shift: how wrong the logits are expected to be."""


LARGEST = 1e15
"""Upper bound of slopes, shifts and knots, so that their products don't overflow."""


class Calibration(Settings):
    """Function from a class's logit to its probability: σ(slope · logit + shift), or an isotonic curve.

    Attributes:
        kind: `none` for σ(logit), `temperature` for slope and shift, or `isotonic`.
        slope: 1 / temperature.
        shift: offset of the logit, which corrects for class weights (Platt 1999).
        knots: logits at which the isotonic curve has a knot.
        values: probability at each knot. The curve is linear between knots and constant beyond them.
        log_loss: cross-validated log loss of each kind on the validation records; empty if kinds were not
            compared.
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
            problem = "the kind 'isotonic' must have a rising curve of knots and values, and other kinds none"
            raise ValueError(problem)
        return self

    def __call__(self, logit_M: Floats) -> Floats:
        """Return the probabilities [M] of logits."""
        if self.kind == "isotonic":
            return np.interp(logit_M, self.knots, self.values)
        return np.asarray(expit(self.slope * logit_M + self.shift))


def calibrate(
    logit_M: Floats, y_M: NDArray[np.floating], method: Method = "best", expected: float = 0.0
) -> Calibration:
    """Fit the calibration of a class on records that were not used for training.

    The method `best` compares the kinds by log loss, cross-validated in `PARTS` parts of the records. It
    chooses `none` unless another kind is better by more than a standard error. `isotonic` is compared only
    with at least `CURVED` positives and negatives. With fewer positives or negatives than parts, `best`
    compares nothing: the kind is `temperature` if `expected` isn't 0, otherwise `none`.

    A temperature is regularised towards slope 1 and shift `expected`, more strongly with fewer records. If
    all labels are equal, the kind is `none`.

    Args:
        logit_M: logits of the class.
        y_M: labels, 0 or 1.
        method: `none`, `temperature`, `isotonic` or `best`.
        expected: shift that corrects for the class weights of training (`logistic.expected_shifts`).
    """
    rarer = int(min(y_M.sum(), (1 - y_M).sum()))
    if rarer == 0 or method == "none":
        return Calibration()
    if method != "best":
        return _fit(method, logit_M, y_M, expected)
    if rarer < PARTS:
        return _fit("temperature" if expected else "none", logit_M, y_M, expected)
    parts = list(StratifiedKFold(PARTS, shuffle=True, random_state=0).split(logit_M, y_M))
    losses: dict[Kind, Floats] = {}
    kinds = KINDS if rarer >= CURVED else KINDS[:2]
    for kind in kinds:
        p_M = np.empty(len(y_M))
        for fit_rows, test_rows in parts:
            p_M[test_rows] = _fit(kind, logit_M[fit_rows], y_M[fit_rows], expected)(logit_M[test_rows])
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
    """Return the mean cross-entropy of the records."""
    return float(losses_of(y_M, p_M).mean())


def _fit(kind: Kind, logit_M: Floats, y_M: NDArray[np.floating], expected: float) -> Calibration:
    if kind == "none":
        return Calibration()
    return _isotonic(logit_M, y_M) if kind == "isotonic" else _temperature(logit_M, y_M, expected)


def _temperature(logit_M: Floats, y_M: NDArray[np.floating], expected: float) -> Calibration:
    """Fit the most probable slope and shift. Their priors are centred on 1 and `expected`; see `DOUBT`."""
    prior = np.array([0.0, expected])

    def loss(theta: Floats) -> tuple[float, Floats]:
        slope = np.exp(theta[0])
        z_M = slope * logit_M + theta[1]
        error_M = expit(z_M) - y_M
        deviation = (theta - prior) / DOUBT
        value = (np.logaddexp(0, z_M) - y_M * z_M).sum() + (deviation**2).sum() / 2
        return float(value), np.array([(error_M * slope * logit_M).sum(), error_M.sum()]) + deviation / DOUBT

    theta = minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=[(-7, 7), (-50, 50)]).x
    return Calibration(kind="temperature", slope=float(np.exp(theta[0])), shift=float(theta[1]))


def _isotonic(logit_M: Floats, y_M: NDArray[np.floating]) -> Calibration:
    """Fit an isotonic curve whose values keep a distance of 1 / (records + 2) from 0 and 1."""
    least = 1 / (len(y_M) + 2)
    curve = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(logit_M, y_M)
    knots, values = (tuple(map(float, ends)) for ends in (curve.X_thresholds_, curve.y_thresholds_))
    return Calibration(kind="isotonic", knots=knots, values=values)


def called_classes(p_MK: Floats, threshold_K: Floats, *, several: bool) -> NDArray[np.bool_]:
    """Return which classes are called, that is, reported as present, bool [M, K].

    If `several` is True, each class whose probability reaches its threshold is called. Otherwise, only the
    class with the highest probability is called.
    """
    return np.asarray(p_MK >= threshold_K if several else np.arange(p_MK.shape[1]) == p_MK.argmax(1)[:, None])


FEW_POSITIVES = 10
"""Number of positives below which the thresholds of `youden` and `f1` are shrunk."""
LEAST_ODDS = 1e-6
"""Probabilities are clipped to this distance from 0 and 1 before their logit is taken."""
_RULE = re.compile(r"youden|f1|(sensitivity|specificity)=(0?\.\d+|1|1\.0)")


def check_rule(rule: str) -> None:
    """Raise `UsageError` if a rule for thresholds is unknown."""
    if not _RULE.fullmatch(rule):
        remedy = "Choose youden, f1, sensitivity=.9 or specificity=.95"
        raise UsageError(f"unknown threshold rule {rule!r}", remedy=remedy)


def threshold(rule: str, y_M: NDArray[np.floating], p_M: Floats) -> float:
    """Return the threshold of a class: the lowest probability at which the class is reported as present.

    The threshold is ½ if all labels are equal. Rules:

    - `youden`: largest sum of sensitivity and specificity.
    - `f1`: largest F1.
    - `sensitivity=S`: highest threshold with at least this sensitivity.
    - `specificity=S`: lowest threshold with at least this specificity.

    With fewer than `FEW_POSITIVES` positives, `youden` and `f1` depend on single records. So their threshold
    is moved, on the logit scale, towards the threshold at which the number of records that are reported as
    positive equals the number of positives.
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
    """Return the threshold `cut`, shrunk if there are few positives.

    The weight of `cut` is the number of positives divided by `FEW_POSITIVES`. The rest of the weight is on
    the threshold at which as many records are called as have the class.
    """
    positives = int(y_M.sum())
    same_count = float(np.sort(p_M)[-positives])  # at this threshold, as many are called as have the class
    if positives >= FEW_POSITIVES or cut == same_count:
        return cut
    cut_logit, count_logit = logit(np.clip([cut, same_count], LEAST_ODDS, 1 - LEAST_ODDS))
    weight = positives / FEW_POSITIVES
    return float(expit(weight * cut_logit + (1 - weight) * count_logit))
