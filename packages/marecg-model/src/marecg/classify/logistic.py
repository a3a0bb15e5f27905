"""Logistic regression of all classes on the same vectors, with partly unknown labels.

A view is a range of a vector's values. The logits of several views are averaged. The strength of the
regularisation is chosen on validation records.

Shapes: M records, K classes, W values of a vector, S strengths, V views.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

from marecg.evaluate.probe.linear import span

Floats = NDArray[np.float64]
STRENGTHS = tuple(10.0**exponent for exponent in range(-5, 2))
"""Candidates for C, the inverse of the L2 strength. The first candidate regularises most."""
USUAL = STRENGTHS.index(1e-3)
"""Index of the candidate for a class without validation labels."""
SMALLEST_SPREAD = 1e-6
"""Largest standard deviation of a value that counts as constant."""


PARTS = 5
"""Number of parts of the validation records. The strength for a part is chosen on the other parts."""


class Logistic(NamedTuple):
    """Fitted model: logits are ((x − mean) / scale) · weights + intercepts.

    Attributes:
        val_MK: logits of the validation records, as returned by `cross_fitted`.
    """

    mean_W: Floats
    scale_W: Floats
    weights_KW: Floats
    intercepts_K: Floats
    val_MK: Floats


def class_weights(y_MK: NDArray[np.floating], train_MK: NDArray[np.floating], balanced: bool) -> Floats:
    """Return the weights [M, K] of labels.

    Unknown labels, and classes whose training labels are all equal, have weight 0. Other labels have weight
    1. If `balanced` is True, positives have weight n / 2n₊ instead, and negatives n / 2n₋. Of the n labelled
    training records of the class, n₊ are positive and n₋ are negative.

    Args:
        y_MK: labels to weight: 0, 1, or NaN if unknown.
        train_MK: labels of the training records, in which positives and negatives are counted.
        balanced: whether positives and negatives of a class get the same total weight in training.
    """
    positives_K, known_K = np.nansum(train_MK, axis=0), np.isfinite(train_MK).sum(axis=0)
    weight_MK = np.isfinite(y_MK) * ((positives_K > 0) & (positives_K < known_K))
    if not balanced:
        return np.asarray(weight_MK, np.float64)
    count_MK = np.where(y_MK == 1, positives_K, known_K - positives_K)
    return np.asarray(weight_MK * known_K / (2 * count_MK.clip(1)))


def expected_shifts(y_MK: NDArray[np.floating], balanced: bool) -> Floats:
    """Return numbers to add to the logits of the classes, [K], to undo the effect of `balanced` weights.

    They are 0 if `balanced` is False. `y_MK` are the labels of the training records.
    """
    positives_K, count_K = np.nansum(y_MK, axis=0), np.isfinite(y_MK).sum(axis=0)
    both_K = (positives_K > 0) & (positives_K < count_K)
    odds_K = positives_K / (count_K - positives_K).clip(1)
    return np.asarray(np.log(np.where(both_K & balanced, odds_K, 1.0)), np.float64)


def class_losses(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> Floats:
    """Return the weighted mean cross-entropy of each class, [K]. It is NaN for a class without labels."""
    loss_MK = np.logaddexp(0, logits_MK) - np.nan_to_num(y_MK) * logits_MK
    total_K = weight_MK.sum(axis=0)
    loss_K = np.full(len(total_K), np.nan)
    np.divide((loss_MK * weight_MK).sum(axis=0), total_K, out=loss_K, where=total_K > 0)
    return loss_K


def record_losses(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> Floats:
    """Return each record's contribution to `weighted_loss`, float64 [M]. Their mean is that loss."""
    loss_MK = np.logaddexp(0, logits_MK) - np.nan_to_num(y_MK) * logits_MK
    total_K = weight_MK.sum(axis=0)
    share_MK = weight_MK[:, total_K > 0] / total_K[total_K > 0] * len(weight_MK)
    return np.asarray((loss_MK[:, total_K > 0] * share_MK).sum(axis=1) / max(1, (total_K > 0).sum()))


def weighted_loss(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> float:
    """Return the mean of `class_losses` over the classes with labels, or 0 if no class has labels."""
    loss_K = class_losses(logits_MK, y_MK, weight_MK)
    scored_K = weight_MK.sum(axis=0) > 0
    return float(loss_K[scored_K].mean()) if scored_K.any() else 0.0


def fit_logistic(
    x_MW: Floats,
    y_MK: NDArray[np.floating],
    weight_MK: Floats,
    val_x: Floats,
    val_y: NDArray[np.floating],
    val_weight: Floats,
    part_W: NDArray[np.floating] | None = None,
) -> Logistic:
    """Fit a logistic regression, and choose the regularisation of each class by its validation loss.

    Vectors are standardised on the training records, then multiplied by `part_W` if it is given. A class
    without positives or without negatives gets zero weights. For the other arguments, see `fit_views`.
    """
    mean_W, scale_W = x_MW.mean(axis=0), x_MW.std(axis=0)
    scale_W = np.where(scale_W > SMALLEST_SPREAD, scale_W, 1) / (1 if part_W is None else part_W)
    train, val = ((x - mean_W) / scale_W for x in (x_MW, val_x))
    basis = span(train)
    if basis is not None:
        train, val = train @ basis, val @ basis
    x, y, weight = (torch.from_numpy(a) for a in (train, np.nan_to_num(y_MK).astype(np.float64), weight_MK))
    positive_K, total_K = (weight * y).sum(0) + 0.5, weight.sum(0) + 1
    theta_K = torch.logit(positive_K / total_K).requires_grad_()
    theta_KW = torch.zeros(y.shape[1], x.shape[1], dtype=torch.float64, requires_grad=True)
    fits: list[tuple[Floats, Floats]] = []
    losses: list[Floats] = []
    for strength in STRENGTHS:  # ‖w‖² / 2C is added to the summed loss; each fit starts from the previous
        optimizer = torch.optim.LBFGS(
            [theta_KW, theta_K], max_iter=100, history_size=20, line_search_fn="strong_wolfe"
        )

        def closure(strength: float = strength, optimizer: torch.optim.Optimizer = optimizer) -> torch.Tensor:
            optimizer.zero_grad()
            loss = binary_cross_entropy_with_logits(x @ theta_KW.T + theta_K, y, weight, reduction="sum")
            loss = (loss + theta_KW.square().sum() / (2 * strength)) / len(x)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimizer.step(closure)  # type: ignore[no-untyped-call]
        fits.append((theta_KW.detach().numpy().copy(), theta_K.detach().numpy().copy()))
        losses.append(class_losses(val @ fits[-1][0].T + fits[-1][1], val_y, val_weight))
    chosen_K = _best_strengths(np.stack(losses))
    weights = np.stack([fits[s][0][k] for k, s in enumerate(chosen_K)])
    intercepts = np.array([fits[s][1][k] for k, s in enumerate(chosen_K)])
    logits_SMK = np.stack([val @ theta_KW.T + theta_K for theta_KW, theta_K in fits])
    crossed_MK = cross_fitted(logits_SMK, val_y, val_weight)
    return Logistic(mean_W, scale_W, weights if basis is None else weights @ basis.T, intercepts, crossed_MK)


def cross_fitted(logits_SMK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> Floats:
    """Return the logits [M, K] of the validation records, with regularisation chosen by cross-validation.

    The validation records are split into `PARTS` parts. The regularisation for a part is chosen on the other
    parts. Otherwise, a calibration fitted on these logits would be biased.

    Args:
        logits_SMK: logits of the validation records for each strength of the regularisation.
        y_MK: labels of the validation records.
        weight_MK: weights of the labels.
    """
    part_M = np.random.default_rng(0).permutation(len(y_MK)) % PARTS
    crossed_MK = np.empty(y_MK.shape)
    for part in range(PARTS):
        elsewhere = part_M != part
        losses = [
            class_losses(logits_MK[elsewhere], y_MK[elsewhere], weight_MK[elsewhere])
            for logits_MK in logits_SMK
        ]
        chosen_K = _best_strengths(np.stack(losses))
        crossed_MK[~elsewhere] = logits_SMK[chosen_K, :, np.arange(len(chosen_K))].T[~elsewhere]
    return crossed_MK


def _best_strengths(loss_SK: Floats) -> NDArray[np.intp]:
    """Return the index of each class's strength with the least loss, or `USUAL` if its loss is NaN."""
    scored_K = np.isfinite(loss_SK).all(axis=0)
    return np.where(scored_K, np.nan_to_num(loss_SK, nan=np.inf).argmin(axis=0), USUAL)


def fit_views(
    x_MW: Floats,
    y_MK: NDArray[np.floating],
    weight_MK: Floats,
    val_x: Floats,
    val_y: NDArray[np.floating],
    val_weight: Floats,
    views: Sequence[slice],
    part_W: NDArray[np.floating] | None = None,
    fitted: dict[tuple[int, int, bytes], Logistic] | None = None,
) -> Logistic:
    """Fit a logistic regression on each view, and join the regressions into one that averages their logits.

    Before averaging, a class's logits are rescaled so that their standard deviation is the same in all views.
    It is measured on validation, or on training if validation has a single record. A view in which the class
    has constant logits is ignored.

    Args:
        x_MW: training vectors.
        y_MK: training labels.
        weight_MK: weights of the training labels.
        val_x: validation vectors.
        val_y: validation labels.
        val_weight: weights of the validation labels.
        views: columns of each view. Each column must be in at least one view.
        part_W: factors of the standardised columns, as in `fit_logistic`.
        fitted: cache of fits by columns and factors, to which new fits are added. It is valid only for the
            same records and labels.
    """
    part_W = np.ones(x_MW.shape[1]) if part_W is None else part_W
    fitted, heads = {} if fitted is None else fitted, []
    for columns in views:
        key = columns.start, columns.stop, part_W[columns].tobytes()
        if key not in fitted:
            x, val = x_MW[:, columns], val_x[:, columns]
            fitted[key] = fit_logistic(x, y_MK, weight_MK, val, val_y, val_weight, part_W[columns])
        heads.append(fitted[key])
    if len(heads) == 1:
        return heads[0]
    judged = val_x if len(val_x) > 1 else x_MW
    logits = [
        ((judged[:, columns] - mean_W) / scale_W) @ weight_KW.T + bias_K
        for columns, (mean_W, scale_W, weight_KW, bias_K, _) in zip(views, heads, strict=True)
    ]
    spread_VK, middle_VK = np.std(logits, axis=1), np.mean(logits, axis=1)
    counts_VK = spread_VK > SMALLEST_SPREAD
    views_K = counts_VK.sum(axis=0).clip(1)
    factor_VK = np.zeros_like(spread_VK)
    usual_VK = np.broadcast_to((spread_VK * counts_VK).sum(axis=0) / views_K, spread_VK.shape)
    np.divide(usual_VK, spread_VK * views_K, out=factor_VK, where=counts_VK)
    none_K = ~counts_VK.any(axis=0)
    factor_VK[:, none_K] = 1 / len(heads)
    shift_K = ((counts_VK / views_K - factor_VK * ~none_K) * middle_VK).sum(axis=0)
    weights_KW, mean_W, scale_W = np.zeros((y_MK.shape[1], x_MW.shape[1])), *np.zeros((2, x_MW.shape[1]))
    for columns, factor_K, head in zip(views, factor_VK, heads, strict=True):
        weights_KW[:, columns] += factor_K[:, None] * head.weights_KW
        mean_W[columns], scale_W[columns] = head.mean_W, head.scale_W  # equal in all views of a column
    return Logistic(
        mean_W,
        scale_W,
        weights_KW,
        (factor_VK * [head.intercepts_K for head in heads]).sum(axis=0) + shift_K,
        (factor_VK[:, None] * [head.val_MK for head in heads]).sum(axis=0) + shift_K,
    )
