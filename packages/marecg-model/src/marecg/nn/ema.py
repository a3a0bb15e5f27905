"""Slow copy of a network: an exponential moving average of the parameters, without gradients."""

import copy
import math

import torch
from torch import nn


class Ema(nn.Module):
    """Slow copy of a network. The copy is the attribute `module`. Call `update` after each optimiser step."""

    def __init__(self, online: nn.Module) -> None:
        super().__init__()
        self.module = copy.deepcopy(online).requires_grad_(False)

    @torch.no_grad()
    def update(self, online: nn.Module, momentum: float) -> None:
        """Move the copy towards the trained network `online` by θ' ← m θ' + (1 − m) θ.

        θ' is a parameter of the copy, θ is the same parameter of `online`, and m is `momentum`. A single
        fused call updates all parameters.
        """
        torch._foreach_lerp_(list(self.module.parameters()), list(online.parameters()), 1 - momentum)


def momentum_at(step: int, steps: int, start: float) -> float:
    """Return the momentum, which rises from `start` to 1 along half a cosine, as in I-JEPA and BYOL."""
    return 1 - (1 - start) * (1 + math.cos(math.pi * step / max(1, steps))) / 2
