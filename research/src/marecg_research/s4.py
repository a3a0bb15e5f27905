"""Baseline S4: a small network of diagonal state spaces, trained end to end on the labels.

S4D (Gu, Gupta, Goel & Ré 2022, arXiv:2206.11893), both ways in time; Mehari & Strodthoff (2023,
arXiv:2308.15291) found S4 ahead of convolutions on ECGs. This one is narrower than theirs, and reads samples
by fours. It stands where the ResNet stands: the same signals, shares and epochs.

A channel is a linear state space: s' = A s + u, y = Re(C s), with diagonal A. Its response to one sample is a
sum of damped oscillations, so over a record it is a convolution, which an FFT computes at once.
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

WIDTH, LAYERS, POLES = 64, 4, 8
STRIDE = 4
"""Samples of a step, 40 ms: twelve leads of four samples fit into the channels."""
DROPOUT = 0.2
STEPS = (1e-3, 1e-1)
"""Between which the channels' time steps are drawn: some remember a beat, others the record."""


class StateSpace(nn.Module):
    """Diagonal state space per channel and direction: [B, W, L] → [B, W, L]."""

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
        """Return each channel's response to one sample, [G, W, L]: the Vandermonde matrix of exp(Δ A)."""
        rate_GWP, output_GWP = self.discretised()
        powers_GWPL = (rate_GWP[..., None] * torch.arange(length, device=rate_GWP.device)).exp()
        return torch.einsum("gwp,gwpl->gwl", output_GWP, powers_GWPL).real

    def forward(self, u_BWL: Tensor) -> Tensor:
        """Convolve with the past and this sample by one kernel, and with the future by another."""
        length = u_BWL.shape[-1]
        past_WL, future_WL = self.kernel(length)
        both_W2L = torch.cat([past_WL, future_WL.flip(-1)], -1)  # behind the padding lies what is before 0
        spectrum = torch.fft.rfft(u_BWL, 2 * length) * torch.fft.rfft(both_W2L)
        convolved_BWL: Tensor = torch.fft.irfft(spectrum, 2 * length)[..., :length]
        return convolved_BWL + self.skip_W[:, None] * u_BWL


class Block(nn.Module):
    """State space and a gated map of the channels, behind a norm and beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.space = StateSpace(width, POLES)
        self.mix = nn.Sequential(nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(width, 2 * width), nn.GLU())
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x_BLW: Tensor) -> Tensor:
        """Return the block's features, [B, L, W] → [B, L, W]."""
        y_BLW = self.space(self.norm(x_BLW).transpose(1, 2)).transpose(1, 2)
        return x_BLW + self.dropout(self.mix(y_BLW))  # type: ignore[no-any-return]


class S4(nn.Module):
    """Network of state spaces: signals [B, C, N] in mV, of any length from one step on, → logits [B, K]."""

    def __init__(self, classes: int, width: int = WIDTH, layers: int = LAYERS) -> None:
        super().__init__()
        self.steps = nn.Sequential(
            nn.BatchNorm1d(len(LEADS)), nn.Conv1d(len(LEADS), width, STRIDE, stride=STRIDE)
        )
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)), nn.LayerNorm(width))
        self.classify = nn.Linear(width, classes)

    def forward(self, x_BCN: Tensor) -> Tensor:
        """Return the logits, from the mean over time."""
        h_BLW = self.blocks(self.steps(x_BCN).transpose(1, 2))
        return self.classify(h_BLW.mean(1))  # type: ignore[no-any-return]


def s4(_task: Task) -> Method:
    """Return the S4 baseline for a task, as `marecg probe --baseline` requests it."""
    return supervised("S4", partial(choose_network, S4))
