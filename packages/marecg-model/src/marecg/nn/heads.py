"""Heads used in pretraining: MLPs, projectors with batch norm, and transformers on the encoder's output H.

Shapes: B batch, T patches, C leads, D width, W width of the predictor.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from marecg.nn.attention import init_linear
from marecg.nn.encoder import Encoder


class MLP(nn.Sequential):
    """Two linear maps with a GELU between them: `width` → `hidden` → `outputs`."""

    def __init__(self, width: int, hidden: int, outputs: int) -> None:
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, outputs))
        self.apply(init_linear)


class BatchNormMLP(nn.Sequential):
    """Projector: linear layers with batch norm and ReLU between them.

    Statistics always come from the batch. The head therefore needs at least two records, and keeps no running
    mean.

    Args:
        *widths: widths of the input and of each layer's output.
        closing: whether batch norm without a gain follows the last layer.
    """

    def __init__(self, *widths: int, closing: bool = False) -> None:
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths[:-1]):
            layers += [nn.Linear(inputs, outputs, bias=False), _batch_norm(outputs), nn.ReLU(inplace=True)]
        layers.append(nn.Linear(widths[-2], widths[-1], bias=not closing))
        if closing:
            layers.append(_batch_norm(widths[-1], gain=False))
        super().__init__(*layers)
        self.apply(init_linear)


def _batch_norm(width: int, *, gain: bool = True) -> nn.BatchNorm1d:
    return nn.BatchNorm1d(width, affine=gain, track_running_stats=False)


class Predictor(nn.Module):
    """Narrow transformer that predicts a target for every token from H, for example for JEPA.

    Args:
        leads: number C of leads.
        positions: maximum number of patches.
        encoder_width: width D of the encoder.
        width: width W of the predictor.
        depth: number of the predictor's blocks.
        heads: number of the predictor's attention heads.
        mlp_ratio: ratio of the feed-forward layer's width to W.
        outputs: width of the targets. The encoder's width D if None.
    """

    def __init__(
        self,
        leads: int,
        positions: int,
        encoder_width: int,
        width: int,
        depth: int,
        heads: int,
        mlp_ratio: int,
        outputs: int | None = None,
    ) -> None:
        super().__init__()
        self.narrow = nn.Linear(encoder_width, width)
        self.lead = nn.Parameter(torch.empty(leads, width))
        self.position = nn.Parameter(torch.empty(positions, width))
        self.encoder = Encoder(width, depth, heads, mlp_ratio)
        self.widen = nn.Linear(width, outputs or encoder_width)
        for linear in (self.narrow, self.widen):
            init_linear(linear)
        for embedding in (self.lead, self.position):
            nn.init.trunc_normal_(embedding, std=0.02)

    def forward(self, h_BTCD: Tensor) -> Tensor:
        """Predict the targets of every token, [B, T, C, D] → [B, T, C, outputs]."""
        z_BTCW = self.narrow(h_BTCD) + (self.position[: h_BTCD.shape[1], None] + self.lead)
        return self.widen(self.encoder(z_BTCW))  # type: ignore[no-any-return]
