"""Reversible instance normalisation (RevIN): each lead of a record is scaled to mean 0 and variance 1.

Unlike in the original RevIN, no learned affine map follows. It would be redundant, because the linear map of
the token embedding follows directly. It could also shrink the target of reconstruction, and thus the loss, to
zero.

Shapes: B batch, C leads, L samples.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Scale(NamedTuple):
    """Mean and standard deviation of each lead, in mV, [B, C, 1]."""

    mean_BC1: Tensor
    std_BC1: Tensor


class RevIN(nn.Module):
    """Normalisation of leads by mean and standard deviation over the encoder's context.

    Args:
        context: number of samples, from the first, used for the statistics. Later samples aren't used,
            because the decoder must predict them.
        eps: constant added to the variance, in mV².
    """

    def __init__(self, context: int, eps: float) -> None:
        super().__init__()
        self.context = context
        self.eps = eps

    def forward(self, x_BCL: Tensor, n_valid_B: Tensor) -> tuple[Tensor, Scale]:
        """Return the normalised leads and their scale. Padding, from sample `n_valid_B` on, stays zero."""
        real_B1L = before(n_valid_B, x_BCL.shape[-1])
        seen_B1L = before(n_valid_B.clamp(max=self.context), x_BCL.shape[-1])
        count_B11 = seen_B1L.sum(-1, keepdim=True).clamp(min=1)
        mean_BC1 = (x_BCL * seen_B1L).sum(-1, keepdim=True) / count_B11
        centred_BCL = x_BCL - mean_BC1
        var_BC1 = (centred_BCL.square() * seen_B1L).sum(-1, keepdim=True) / count_B11
        scale = Scale(mean_BC1, (var_BC1 + self.eps).sqrt())
        return centred_BCL / scale.std_BC1 * real_B1L, scale

    def invert(self, x_BCL: Tensor, scale: Scale) -> Tensor:
        """Convert normalised signals back to mV."""
        return x_BCL * scale.std_BC1 + scale.mean_BC1


def before(n_B: Tensor, length: int) -> Tensor:
    """Return the mask of the first n samples of each record, bool [B, 1, L]."""
    return (torch.arange(length, device=n_B.device) < n_B[:, None])[:, None, :]
