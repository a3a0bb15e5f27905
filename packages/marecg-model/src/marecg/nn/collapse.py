"""Collapse of embeddings: their effective rank.

Shapes: B batch, D width.
"""

import math

import torch
from torch import Tensor

COLLAPSED = 2.0
"""Below this effective rank of h_rhythm one direction is nearly all that tells records apart."""
POINT = 1e-4
"""A spread that is smaller than this against the embeddings' own size is rounding, not information."""


def effective_rank(h_BD: Tensor) -> float:
    """Return the exponential entropy of centred singular values: 1 is a line, at most min(B − 1, D).

    A point is 1 too. NaN where `h_BD` isn't finite.
    """
    if not h_BD.isfinite().all():  # the decomposition would raise
        return math.nan
    centred_BD = h_BD - h_BD.mean(0)
    if centred_BD.norm() <= POINT * h_BD.norm():
        return 1.0
    singular = torch.linalg.svdvals(centred_BD)
    share = singular / singular.sum().clamp(min=1e-12)
    return float(torch.exp(-(share * share.clamp(min=1e-12).log()).sum()))
