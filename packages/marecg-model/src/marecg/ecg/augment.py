"""Augmentations of a batch of signals for the second view (§subsec:auxiliary).

`rhythm_safe` leaves every beat where it is; `unconstrained` also crops, stretches and blanks.
Amplitudes are relative to each lead's standard deviation, so that a quiet lead stays readable.

Shapes: B batch, C leads, L samples.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import grid_sample


def rhythm_safe(x_BCL: Tensor, fs: float, generator: torch.Generator) -> Tensor:
    """Mains hum, muscle and white noise, baseline wander and shift, and a gain per lead; no R-peak moves."""
    std_BC1 = x_BCL.std(-1, keepdim=True)
    time_L = torch.arange(x_BCL.shape[-1], device=x_BCL.device) / fs
    draw = _Draw(x_BCL, generator)
    mains_B11 = torch.where(draw.record(0, 1) < 0.5, 50.0, 60.0)
    disturbance_BCL = (
        draw.record(0, 0.2) * _sine(mains_B11, draw.lead(0, 1), time_L)
        + draw.record(0, 0.3) * _sine(draw.record(0.05, 0.5), draw.lead(0, 1), time_L)
        + draw.lead(-0.25, 0.25)
        + draw.record(0, 0.05) * draw.noise()
    )
    return draw.lead(0.5, 2) * (x_BCL + std_BC1 * disturbance_BCL)


def unconstrained(x_BCL: Tensor, fs: float, generator: torch.Generator) -> Tensor:
    """What `rhythm_safe` does, after a random resized crop and a blanked stretch of up to a fifth."""
    draw = _Draw(x_BCL, generator)
    share_B11 = draw.record(0.5, 1)
    start_B11 = draw.record(0, 1) * (1 - share_B11)
    x_BCL = _resized(x_BCL, start_B11, share_B11)
    place_L = torch.linspace(0, 1, x_BCL.shape[-1], device=x_BCL.device)
    blank_from_B11, blank_share_B11 = draw.record(0, 1), draw.record(0, 0.2)
    blank_B1L = (place_L >= blank_from_B11) & (place_L < blank_from_B11 + blank_share_B11)
    return rhythm_safe(x_BCL.masked_fill(blank_B1L, 0.0), fs, generator)


AUGMENTATIONS = {"rhythm-safe": rhythm_safe, "unconstrained": unconstrained}
"""The augmentation sets of Table component-ablation, by name."""


class _Draw:
    """Uniform and normal draws in the shapes that a batch needs, from one generator."""

    def __init__(self, x_BCL: Tensor, generator: torch.Generator) -> None:
        self.x_BCL = x_BCL
        self.generator = generator

    def record(self, low: float, high: float) -> Tensor:
        """One value per record, [B, 1, 1]."""
        return self._uniform((len(self.x_BCL), 1, 1), low, high)

    def lead(self, low: float, high: float) -> Tensor:
        """One value per lead, [B, C, 1]."""
        return self._uniform((*self.x_BCL.shape[:2], 1), low, high)

    def noise(self) -> Tensor:
        """Standard normal samples, [B, C, L]."""
        noise = torch.randn(self.x_BCL.shape, generator=self.generator, device=self.generator.device)
        return noise.to(self.x_BCL)

    def _uniform(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        draw = torch.rand(shape, generator=self.generator, device=self.generator.device)
        return (low + (high - low) * draw).to(self.x_BCL)


def _sine(frequency_B11: Tensor, phase_BC1: Tensor, time_L: Tensor) -> Tensor:
    return torch.sin(2 * math.pi * (frequency_B11 * time_L + phase_BC1))


def _resized(x_BCL: Tensor, start_B11: Tensor, share_B11: Tensor) -> Tensor:
    """Stretch the part [start, start + share) of each record to its whole length, by linear interpolation."""
    place_L = torch.linspace(0, 1, x_BCL.shape[-1], device=x_BCL.device)
    along_B1L = 2 * (start_B11 + share_B11 * place_L) - 1
    grid_B1L2 = torch.stack([along_B1L, torch.zeros_like(along_B1L)], dim=-1)
    return grid_sample(x_BCL[:, :, None], grid_B1L2, align_corners=True, padding_mode="border")[:, :, 0]
