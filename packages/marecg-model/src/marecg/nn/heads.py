"""The small heads that only pretraining has: MSPS's MLPs, the view's projector, JEPA's predictor.

Shapes: B batch, T patches, C leads, D width.
"""

import torch
from torch import Tensor, nn

from marecg.nn.attention import init_linear
from marecg.nn.encoder import Encoder


class MLP(nn.Sequential):
    """Two linear maps around a GELU: `width` → `hidden` → `outputs`."""

    def __init__(self, width: int, hidden: int, outputs: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, outputs))
        self.apply(init_linear)


class Predictor(nn.Module):
    """JEPA's predictor: a narrow factorised transformer from the online H to the EMA encoder's tokens."""

    def __init__(
        self,
        leads: int,
        positions: int,
        encoder_width: int,
        width: int,
        depth: int,
        heads: int,
        mlp_ratio: int,
    ) -> None:
        super().__init__()
        self.narrow = nn.Linear(encoder_width, width)
        self.lead = nn.Parameter(torch.empty(leads, width))
        self.position = nn.Parameter(torch.empty(positions, width))
        self.encoder = Encoder(width, depth, heads, mlp_ratio)
        self.widen = nn.Linear(width, encoder_width)
        for linear in (self.narrow, self.widen):
            init_linear(linear)
        for embedding in (self.lead, self.position):
            nn.init.trunc_normal_(embedding, std=0.02)

    def forward(self, h_BTCD: Tensor) -> Tensor:
        """[B, T, C, D] → [B, T, C, D]."""
        z_BTCW = self.narrow(h_BTCD) + (self.position[: h_BTCD.shape[1], None] + self.lead)
        return self.widen(self.encoder(z_BTCW))  # type: ignore[no-any-return]
