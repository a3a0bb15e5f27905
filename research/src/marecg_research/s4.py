"""Baseline S4: train a small network of diagonal state spaces end to end on the labels.

The network is a bidirectional S4D (Gu, Gupta, Goel & Ré 2022, arXiv:2206.11893). Mehari & Strodthoff (2023,
arXiv:2308.15291) found that S4 is better than convolutions on ECGs. This network is narrower than theirs, and
a step reads four samples. It learns from crops of 2.5 s, and the logits of a record are the mean over crops,
as in Strodthoff et al. 2021 (arXiv:2004.13701). research/edition chose crops, width and pooling. Signals,
shares and epochs are the same as for the baseline resnet1d.

A channel is a linear state space: s' = A s + u, y = Re(C s), with diagonal A. Its response to a sample is a
sum of damped oscillations. So its response to a record is a convolution, which is computed by FFT.

Shapes: B records, C leads, N samples at 100 Hz, L steps, W channels, G = 2 directions, P poles, K classes.
"""

import math
from functools import partial

import torch
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS
from marecg.evaluate.methods.method import Method
from marecg.evaluate.methods.resnet1d import choose_network, supervised
from marecg.evaluate.tasks.task import Task

WIDTH, LAYERS, POLES = 128, 4, 8
STRIDE = 4
"""Samples per step (40 ms). A step has fewer values, 12 × 4, than the network has channels."""
CROP = 250
"""Samples of a crop, 2.5 s."""
DROPOUT = 0.2
STEPS = (1e-3, 1e-1)
"""Range of the channels' initial time steps. The memory of a channel is between a beat and the record."""


class StateSpace(nn.Module):
    """Diagonal state space for each channel and direction, from [B, W, L] to [B, W, L]."""

    def __init__(self, width: int, poles: int) -> None:
        super().__init__()
        low, high = map(math.log, STEPS)
        self.log_step_GW = nn.Parameter(torch.empty(2, width).uniform_(low, high))
        self.log_decay_GWP = nn.Parameter(torch.full((2, width, poles), math.log(0.5)))
        self.frequency_GWP = nn.Parameter(math.pi * torch.arange(poles).expand(2, width, -1).clone())
        self.output_GWP2 = nn.Parameter(torch.randn(2, width, poles, 2))
        self.skip_W = nn.Parameter(torch.ones(width))

    def discretised(self) -> tuple[Tensor, Tensor]:
        """Return Δ A and, by zero-order hold, the output C (exp(Δ A) − 1) / A of one sample, [G, W, P]."""
        pole_GWP = torch.complex(-self.log_decay_GWP.exp(), self.frequency_GWP)
        rate_GWP = self.log_step_GW.exp()[..., None] * pole_GWP
        return rate_GWP, torch.view_as_complex(self.output_GWP2) * (rate_GWP.exp() - 1) / pole_GWP

    def kernel(self, length: int) -> Tensor:
        """Return each channel's response to a sample, [G, W, L], by the Vandermonde matrix of exp(Δ A)."""
        rate_GWP, output_GWP = self.discretised()
        powers_GWPL = (rate_GWP[..., None] * torch.arange(length, device=rate_GWP.device)).exp()
        return torch.einsum("gwp,gwpl->gwl", output_GWP, powers_GWPL).real

    def forward(self, u_BWL: Tensor) -> Tensor:
        """Convolve past and present samples with one kernel, and future samples with the other kernel."""
        length = u_BWL.shape[-1]
        past_WL, future_WL = self.kernel(length)
        both_W2L = torch.cat([past_WL, future_WL.flip(-1)], -1)  # the FFT is circular: −1 is the last index
        spectrum = torch.fft.rfft(u_BWL, 2 * length) * torch.fft.rfft(both_W2L)
        convolved_BWL: Tensor = torch.fft.irfft(spectrum, 2 * length)[..., :length]
        return convolved_BWL + self.skip_W[:, None] * u_BWL


class Block(nn.Module):
    """Residual block: norm, state space, and a gated map of the channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.space = StateSpace(width, POLES)
        self.mix = nn.Sequential(nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(width, 2 * width), nn.GLU())
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x_BLW: Tensor) -> Tensor:
        """Return the block's features [B, L, W] for features [B, L, W]."""
        y_BLW = self.space(self.norm(x_BLW).transpose(1, 2)).transpose(1, 2)
        return x_BLW + self.dropout(self.mix(y_BLW))  # type: ignore[no-any-return]


class S4(nn.Module):
    """Network of state spaces from signals [B, C, N] in mV to logits [B, K]. N is at least `STRIDE`."""

    def __init__(self, classes: int, width: int = WIDTH, layers: int = LAYERS) -> None:
        super().__init__()
        self.steps = nn.Sequential(
            nn.BatchNorm1d(len(LEADS)), nn.Conv1d(len(LEADS), width, STRIDE, stride=STRIDE)
        )
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)), nn.LayerNorm(width))
        self.classify = nn.Linear(2 * width, classes)

    def forward(self, x_BCN: Tensor) -> Tensor:
        """Return the logits of a random crop in training, otherwise the mean over crops half a crop apart."""
        length = min(CROP, x_BCN.shape[-1])
        last = x_BCN.shape[-1] - length
        if self.training:
            starts = [int(torch.randint(last + 1, ()))]
        else:
            starts = [*range(0, last + 1, max(1, length // 2))]
        return torch.stack([self._of_crop(x_BCN[..., start : start + length]) for start in starts]).mean(0)

    def _of_crop(self, x_BCN: Tensor) -> Tensor:
        h_BLW = self.blocks(self.steps(x_BCN).transpose(1, 2))
        return self.classify(torch.cat([h_BLW.mean(1), h_BLW.amax(1)], 1))  # type: ignore[no-any-return]


def s4(_task: Task) -> Method:
    """Return the baseline S4 for `marecg probe --baseline`. It is the same for all tasks."""
    return supervised("S4", partial(choose_network, S4))
