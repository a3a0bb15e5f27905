"""Logistic regression of every class on the same vectors, with labels that may be unknown.

Shapes: M records, K classes, W values of a vector, S strengths.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits

Floats = NDArray[np.float64]
STRENGTHS = tuple(10.0**exponent for exponent in range(-5, 2))
"""The candidates for C, the inverse of the L2 strength, strongest first."""
USUAL = STRENGTHS.index(1e-3)
"""What serves where validation can't choose."""
SMALLEST_SPREAD = 1e-6
"""A value that varies less is taken as constant."""


def class_weights(y_MK: NDArray[np.floating], train_MK: NDArray[np.floating], balanced: bool) -> Floats:
    """What each label counts, [M, K]: 0 where it is NaN, or where training shows one kind of it alone.

    `balanced` counts positives n / 2n₊ and negatives n / 2n₋, by the n training records with a label.
    """
    positives_K, known_K = np.nansum(train_MK, axis=0), np.isfinite(train_MK).sum(axis=0)
    weight_MK = np.isfinite(y_MK) * ((positives_K > 0) & (positives_K < known_K))
    if not balanced:
        return np.asarray(weight_MK, np.float64)
    count_MK = np.where(y_MK == 1, positives_K, known_K - positives_K)
    return np.asarray(weight_MK * known_K / (2 * count_MK.clip(1)))


def class_losses(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> Floats:
    """The weighted mean cross-entropy of every class, [K]; NaN where no label counts."""
    loss_MK = np.logaddexp(0, logits_MK) - np.nan_to_num(y_MK) * logits_MK
    total_K = weight_MK.sum(axis=0)
    loss_K = np.full(len(total_K), np.nan)
    np.divide((loss_MK * weight_MK).sum(axis=0), total_K, out=loss_K, where=total_K > 0)
    return loss_K


def weighted_loss(logits_MK: Floats, y_MK: NDArray[np.floating], weight_MK: Floats) -> float:
    """The mean of `class_losses` over the classes that have one; 0 where none has."""
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
) -> tuple[Floats, Floats, Floats, Floats]:
    """Standardise on train, fit at ever weaker strengths; each class keeps the best by its validation loss.

    Standardised values are multiplied by `part_W`, if it is given. Returns mean [W], scale [W], weights
    [K, W] and intercepts [K]; a class without both kinds has no weights.
    """
    mean_W, scale_W = x_MW.mean(axis=0), x_MW.std(axis=0)
    scale_W = np.where(scale_W > SMALLEST_SPREAD, scale_W, 1) / (1 if part_W is None else part_W)
    train, val = ((each - mean_W) / scale_W for each in (x_MW, val_x))
    basis = span(train)
    if basis is not None:
        train, val = train @ basis, val @ basis
    x, y, weight = (torch.from_numpy(a) for a in (train, np.nan_to_num(y_MK).astype(np.float64), weight_MK))
    positive_K, total_K = (weight * y).sum(0) + 0.5, weight.sum(0) + 1
    theta_K = torch.logit(positive_K / total_K).requires_grad_()
    theta_KW = torch.zeros(y.shape[1], x.shape[1], dtype=torch.float64, requires_grad=True)
    fits: list[tuple[Floats, Floats]] = []
    losses: list[Floats] = []
    for strength in STRENGTHS:  # ‖w‖² / 2C is added to the summed loss, and each fit begins from the last
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
    loss_SK = np.stack(losses)
    scored_K = np.isfinite(loss_SK).all(axis=0)
    chosen_K = np.where(scored_K, np.nan_to_num(loss_SK, nan=np.inf).argmin(axis=0), USUAL)
    weights = np.stack([fits[s][0][k] for k, s in enumerate(chosen_K)])
    intercepts = np.array([fits[s][1][k] for k, s in enumerate(chosen_K)])
    return mean_W, scale_W, weights if basis is None else weights @ basis.T, intercepts


def span(x_MW: Floats) -> Floats | None:
    """An orthonormal basis [W, M] of what M vectors span, where they are fewer than their values.

    The weights of least L2 norm lie there, so a fit on `x_MW @ span` is the same, and cheaper.
    """
    return np.linalg.qr(x_MW.T)[0] if len(x_MW) < x_MW.shape[1] else None
