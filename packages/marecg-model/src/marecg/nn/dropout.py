"""Dropout with an explicit generator, so that a resumed run drops the same entries."""

import torch
from torch import Tensor


def dropout(x: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Zero entries with probability `rate`, and scale the remaining entries by 1 / (1 − rate).

    A rate of 0 leaves the generator unchanged.
    """
    if not rate:
        return x
    keep = torch.rand(x.shape, generator=generator, device=generator.device) >= rate
    return x * keep.to(x.device) / (1 - rate)
