"""Modulation spectrum: power spectrum of the QRS envelope, which shows the rate and regularity of the beats.

A mean of the encoder's tokens over a record loses most of the rate and regularity, because both are visible
only over several seconds. This module therefore smooths the steepness of the signal to an envelope that rises
with each QRS, and computes the envelope's power spectrum. The spectrum doesn't depend on when the beats
begin. It has peaks at the heart rate and its multiples. The peaks are narrow if the beats are regular, and
the spectrum is flat in atrial fibrillation. The module has no parameters. The paper doesn't use it.

Shapes: B batch, C leads, L samples, N frames of the envelope, F frequencies, M bands.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import conv1d, pad

from marecg.nn.revin import before

BANDS = 48
"""Number M of triangular frequency bands. Their widths grow in proportion to their frequencies."""
LOWEST, HIGHEST = 0.3, 12.0
"""Limits of the bands in Hz: below any heart rate, and twelve times a heart rate of 60 per minute."""
FRAMES = 50
"""Envelope values per second."""
SMOOTHED = 0.1
"""Length in seconds of the Hann window that smooths a QRS to a single bump."""
GRID = 0.1
"""Step in Hz of the frequencies at which the power is computed. A window of seven seconds resolves less."""
FLOOR = 0.01
"""Power added before the logarithm, as a multiple of the envelope's variance. Any smaller power is noise."""
HZ_F = torch.arange(GRID, HIGHEST + GRID, GRID, dtype=torch.float32)
"""The frequencies in Hz. They are a constant, because the Range operator of ONNX gives one frequency more."""
STILL = 1e-6
"""Smallest slope and spread of the envelope in mV per sample. Less variation counts as no variation."""


def modulation_spectrum(x_BCL: Tensor, n_valid_B: Tensor, fs: int) -> Tensor:
    """Return the log power of the envelope in frequency bands, [B, M]. The envelope's mean is subtracted.

    Args:
        x_BCL: records in mV, zero in absent leads.
        n_valid_B: samples of each record before its padding. Padding is ignored.
        fs: sampling rate in Hz.
    """
    step, reach = max(1, round(fs / FRAMES)), round(fs * SMOOTHED / 2)
    slope_BL = pad(x_BCL.float().diff(dim=-1).square().sum(1).clamp(min=STILL**2).sqrt(), (0, 1))
    slope_B1L = slope_BL[:, None] * before(n_valid_B - 1, x_BCL.shape[-1])
    bump_L = torch.hann_window(2 * reach + 3, periodic=False, dtype=torch.float32, device=x_BCL.device)[1:-1]
    bump_11L = bump_L[None, None]
    envelope_BN = conv1d(slope_B1L, bump_11L / bump_11L.sum(), stride=step, padding=reach)[:, 0]

    frame_N = torch.arange(envelope_BN.shape[1], device=x_BCL.device)
    count_B1 = ((n_valid_B + step - 1) // step).clamp(min=1, max=len(frame_N))[:, None]
    real_BN = frame_N < count_B1
    mean_B1 = (envelope_BN * real_BN).sum(1, keepdim=True) / count_B1
    centred_BN = (envelope_BN - mean_B1) * real_BN
    spread_B1 = (centred_BN.square().sum(1, keepdim=True) / count_B1).sqrt().clamp(min=STILL)
    taper_BN = torch.sin(math.pi * (frame_N.float() + 0.5) / count_B1).square()
    wave_BN = centred_BN / spread_B1 * taper_BN

    hz_F = HZ_F.to(x_BCL.device)
    angle_NF = 2 * math.pi * step / fs * frame_N[:, None].float() * hz_F
    power_BF = ((wave_BN @ angle_NF.cos()).square() + (wave_BN @ angle_NF.sin()).square()) / count_B1
    return (power_BF @ _bands(hz_F) + FLOOR).log()


def _bands(hz_F: Tensor) -> Tensor:
    """Return the weights of triangular bands, [F, M]. The weights of a band sum to 1.

    The triangles are evenly spaced in log frequency, and at least as wide as the grid.
    """
    edges = torch.logspace(
        math.log10(LOWEST), math.log10(HIGHEST), BANDS + 2, dtype=hz_F.dtype, device=hz_F.device
    )
    centre_M = edges[1:-1]
    below_M = torch.minimum(edges[:-2], centre_M - GRID)
    above_M = torch.maximum(edges[2:], centre_M + GRID)
    rise_FM = (hz_F[:, None] - below_M) / (centre_M - below_M)
    fall_FM = (above_M - hz_F[:, None]) / (above_M - centre_M)
    weight_FM = torch.minimum(rise_FM, fall_FM).clamp(min=0)
    return weight_FM / weight_FM.sum(0)
