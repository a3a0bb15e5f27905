"""Augmentations of a batch of signals, for example for the second view of view contrast.

`rhythm_safe` doesn't move any beat. `unconstrained` also crops, stretches and blanks the signal. Disturbances
are scaled by each lead's standard deviation, so that a lead with small amplitudes stays readable. Samples
from `n_valid` on are padding: they are never read, and they are zero in the result.

Shapes: B batch, C leads, L samples, F frequencies.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

Augment = Callable[[Tensor, Tensor, float, torch.Generator], Tensor]
"""Function of x_BCL in mV, n_valid_B, the sampling rate in Hz and a generator. It returns a new x_BCL."""
PASSBAND_HZ = (0.5, 40.0)
"""Passband of monitoring ECGs in Hz (Kligfield et al. 2007, doi:10.1161/CIRCULATIONAHA.106.180200)."""


def rhythm_safe(x_BCL: Tensor, n_valid_B: Tensor, fs: float, generator: torch.Generator) -> Tensor:
    """Add mains hum, baseline wander, an offset and white noise, and scale leads. R-peaks don't move."""
    real_B1L = _real(x_BCL, n_valid_B)
    std_BC1 = _std(x_BCL, real_B1L)
    time_L = torch.arange(x_BCL.shape[-1], device=x_BCL.device) / fs
    draw = _Draw(x_BCL, generator)
    mains_B11 = torch.where(draw.record(0, 1) < 0.5, 50.0, 60.0)
    disturbance_BCL = (
        draw.record(0, 0.2) * _sine(mains_B11, draw.lead(0, 1), time_L)
        + draw.record(0, 0.3) * _sine(draw.record(0.05, 0.5), draw.lead(0, 1), time_L)
        + draw.lead(-0.25, 0.25)
        + draw.record(0, 0.05) * draw.noise()
    )
    return draw.lead(0.5, 2) * (x_BCL + std_BC1 * disturbance_BCL) * real_B1L


def unconstrained(x_BCL: Tensor, n_valid_B: Tensor, fs: float, generator: torch.Generator) -> Tensor:
    """Crop and stretch records at random, blank up to a fifth of each record, then apply `rhythm_safe`."""
    draw = _Draw(x_BCL, generator)
    share_B11 = draw.record(0.5, 1)
    start_B11 = draw.record(0, 1) * (1 - share_B11)
    position_B1L = _positions(x_BCL, n_valid_B)
    x_BCL = _resized(x_BCL, n_valid_B, start_B11 + share_B11 * position_B1L)
    blank_from_B11, blank_share_B11 = draw.record(0, 1), draw.record(0, 0.2)
    blank_B1L = (position_B1L >= blank_from_B11) & (position_B1L < blank_from_B11 + blank_share_B11)
    return rhythm_safe(x_BCL.masked_fill(blank_B1L, 0.0), n_valid_B, fs, generator)


def denoised(x_BCL: Tensor, n_valid_B: Tensor, fs: float, generator: torch.Generator) -> Tensor:
    """Filter signals to the band `PASSBAND_HZ`, without delay and without random draws."""
    low, high = PASSBAND_HZ
    real_B1L = _real(x_BCL, n_valid_B)
    mean_BC1 = (x_BCL * real_B1L).sum(-1, keepdim=True) / real_B1L.sum(-1, keepdim=True)
    hertz_F = torch.fft.rfftfreq(x_BCL.shape[-1], 1 / fs, device=x_BCL.device)
    spectrum_BCF = torch.fft.rfft((x_BCL - mean_BC1) * real_B1L) * ((hertz_F >= low) & (hertz_F <= high))
    passed_BCL: Tensor = torch.fft.irfft(spectrum_BCF, x_BCL.shape[-1])
    return passed_BCL * real_B1L


AUGMENTATIONS: dict[str, Augment] = {
    "rhythm-safe": rhythm_safe,
    "unconstrained": unconstrained,
    "denoised": denoised,
}
"""Augmentations by name: the two that the paper compares, and a band-pass filter."""


class _Draw:
    """Uniform and normal random numbers from a generator, in shapes that fit a batch."""

    def __init__(self, x_BCL: Tensor, generator: torch.Generator) -> None:
        self.x_BCL = x_BCL
        self.generator = generator

    def record(self, low: float, high: float) -> Tensor:
        """Draw a value per record, [B, 1, 1]."""
        return self._uniform((len(self.x_BCL), 1, 1), low, high)

    def lead(self, low: float, high: float) -> Tensor:
        """Draw a value per lead, [B, C, 1]."""
        return self._uniform((*self.x_BCL.shape[:2], 1), low, high)

    def noise(self) -> Tensor:
        """Draw standard normal samples, [B, C, L]."""
        noise = torch.randn(self.x_BCL.shape, generator=self.generator, device=self.generator.device)
        return noise.to(self.x_BCL)

    def _uniform(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        draw = torch.rand(shape, generator=self.generator, device=self.generator.device)
        return (low + (high - low) * draw).to(self.x_BCL)


def _sine(frequency_B11: Tensor, phase_BC1: Tensor, time_L: Tensor) -> Tensor:
    return torch.sin(2 * math.pi * (frequency_B11 * time_L + phase_BC1))


def _real(x_BCL: Tensor, n_valid_B: Tensor) -> Tensor:
    """Return the mask of samples without padding, bool [B, 1, L]."""
    return torch.arange(x_BCL.shape[-1], device=x_BCL.device) < n_valid_B[:, None, None]


def _std(x_BCL: Tensor, real_B1L: Tensor) -> Tensor:
    """Return each lead's standard deviation over the record, [B, C, 1]."""
    count_B11 = real_B1L.sum(-1, keepdim=True)
    mean_BC1 = (x_BCL * real_B1L).sum(-1, keepdim=True) / count_B11
    # Padding is set to the mean, so that it adds no variance.
    diluted_BC1 = x_BCL.where(real_B1L, mean_BC1).std(-1, keepdim=True)
    return diluted_BC1 * ((x_BCL.shape[-1] - 1) / (count_B11 - 1)).sqrt()


def _positions(x_BCL: Tensor, n_valid_B: Tensor) -> Tensor:
    """Return each sample's position in its record, [B, 1, L]: from 0 to 1, and above 1 in the padding."""
    along_L = torch.linspace(0, 1, x_BCL.shape[-1], device=x_BCL.device)
    return along_L * ((x_BCL.shape[-1] - 1) / (n_valid_B[:, None, None] - 1))


def _resized(x_BCL: Tensor, n_valid_B: Tensor, position_B1L: Tensor) -> Tensor:
    """Interpolate each record linearly at positions from 0, the first sample, to 1, the last sample."""
    last_B11 = (n_valid_B[:, None, None] - 1) / (x_BCL.shape[-1] - 1)
    along_B1L = 2 * last_B11 * position_B1L.clamp(max=1) - 1
    grid_B1L2 = torch.stack([along_B1L, torch.zeros_like(along_B1L)], dim=-1)
    return grid_sample(x_BCL[:, :, None], grid_B1L2, align_corners=True, padding_mode="border")[:, :, 0]
