"""Effective rank of embeddings. A low rank shows that the encoder maps all records to similar embeddings.

Shapes: B batch, D width.
"""

import math

import torch
from torch import Tensor

COLLAPSED = 2.0
"""An effective rank of the record embeddings below this limit is reported as a collapse.

Below the limit, records differ in little more than one direction.
"""
POINT = 1e-4
"""Smallest ratio of the embeddings' spread to their norm. A smaller spread is only rounding error."""


def effective_rank(h_BD: Tensor) -> float:
    """Return the effective rank of B embeddings, a measure of the number of directions in which they differ.

    It is the exponential of the entropy of the singular values of the centred embeddings. The rank is 1 if
    the embeddings are equal or on a line, and at most min(B − 1, D). It is NaN if `h_BD` isn't finite.
    """
    if not h_BD.isfinite().all():  # the decomposition would raise
        return math.nan
    centred_BD = h_BD - h_BD.mean(0)
    if centred_BD.norm() <= POINT * h_BD.norm():
        return 1.0
    singular = torch.linalg.svdvals(centred_BD)
    share = singular / singular.sum().clamp(min=1e-12)
    return float(torch.exp(-(share * share.clamp(min=1e-12).log()).sum()))
