"""Dropout with an explicit generator: a resumed run drops the same entries."""

import torch
from torch import Tensor


def dropout(x: Tensor, rate: float, generator: torch.Generator) -> Tensor:
    """Zero entries with probability `rate`, scale the others by 1 / (1 − rate); a rate of 0 draws nothing."""
    if not rate:
        return x
    keep = torch.rand(x.shape, generator=generator, device=generator.device) >= rate
    return x * keep.to(x.device) / (1 - rate)
