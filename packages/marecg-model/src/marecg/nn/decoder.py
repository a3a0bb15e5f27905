"""Causal decoder of masked autoregressive reconstruction (§Backbone of the paper).

The decoder is discarded after pretraining.

A record window consists of context patches, which the encoder reads, and of T_pred trailing patches, which
it doesn't read. For each lead, the decoder reads the encoder's output H for the context, and then
predicts the trailing patches from left to right. Its input at trailing patch i is the last patch that ends
before patch i begins. Patches have P_t samples and begin every S_t samples, so this is patch i − ⌈P_t / S_t⌉.
If patches overlap, patch i − 1 would reveal a part of the answer. The decoder also predicts the context
patches. Such a prediction counts in the loss only if the patch was masked for the encoder.

Shapes: B batch, T context patches, F trailing patches (T_pred), S = T + F, C leads, P samples per patch,
D encoder width, W decoder width.
"""

import torch
from torch import Tensor, nn

from marecg.nn.attention import Attention, Axis, FeedForward, init_linear


class CausalBlock(nn.Module):
    """Pre-norm block: causal attention along the time of each lead, then a feed-forward layer."""

    def __init__(self, width: int, heads: int, mlp_ratio: int) -> None:
        super().__init__()
        self.norm_temporal = nn.LayerNorm(width)
        self.temporal = Attention(width, heads, Axis.TIME, causal=True)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = FeedForward(width, mlp_ratio)

    def forward(self, h_BSCW: Tensor) -> Tensor:
        """Contextualise the patches of each lead, [B, S, C, W] → [B, S, C, W]."""
        h_BSCW = h_BSCW + self.temporal(self.norm_temporal(h_BSCW))
        return h_BSCW + self.mlp(self.norm_mlp(h_BSCW))  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """Causal decoder that predicts the patches x̂ of a record window from the encoder's output H.

    Args:
        leads: number C of leads.
        positions: maximum number of patches of a record, trailing patches included.
        patch: P_t, the length of a patch in samples.
        stride: S_t, the number of samples between the starts of two patches.
        encoder_width: width D of the encoder.
        width: width W of the decoder.
        depth: number of the decoder's blocks.
        heads: number of the decoder's attention heads.
        mlp_ratio: ratio of the feed-forward layer's width to W.
    """

    def __init__(
        self,
        leads: int,
        positions: int,
        patch: int,
        stride: int,
        encoder_width: int,
        width: int,
        depth: int,
        heads: int,
        mlp_ratio: int,
    ) -> None:
        super().__init__()
        self.lag = -(-patch // stride)
        self.from_encoder = nn.Linear(encoder_width, width)
        self.from_signal = nn.Linear(patch, width)
        self.lead = nn.Parameter(torch.empty(leads, width))
        self.position = nn.Parameter(torch.empty(positions, width))
        self.blocks = nn.ModuleList(CausalBlock(width, heads, mlp_ratio) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.to_signal = nn.Linear(width, patch)
        self.apply(init_linear)
        for embedding in (self.lead, self.position):
            nn.init.trunc_normal_(embedding, std=0.02)

    def forward(self, h_BTCD: Tensor, x_BSCP: Tensor) -> Tensor:
        """Predict all S patches, [B, S, C, P], from H of the context and from the true patches `x_BSCP`.

        Besides H, the prediction of a trailing patch depends only on patches that end before it begins.
        """
        context = h_BTCD.shape[1]
        known_BFCP = x_BSCP[:, context - self.lag : x_BSCP.shape[1] - self.lag]
        inputs_BSCW = torch.cat([self.from_encoder(h_BTCD), self.from_signal(known_BFCP)], dim=1)
        h_BSCW = inputs_BSCW + (self.position[: inputs_BSCW.shape[1], None] + self.lead)
        for block in self.blocks:
            h_BSCW = block(h_BSCW)
        return self.to_signal(self.norm(h_BSCW))  # type: ignore[no-any-return]
