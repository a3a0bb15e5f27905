"""The encoder: a bidirectional transformer (§Backbone of the paper).

Each block attends first across the leads of a timestep, then along the timesteps of a lead.

Shapes: B batch, T patches, C leads, D width.
"""

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from marecg.nn.attention import Attention, Axis, FeedForward, init_linear

CACHED_BYTES = 1 << 20
"""Largest token tensor, in bytes, for which a block's activations stay in the CPU cache."""


def being_traced() -> bool:
    """Return whether torch is compiling or tracing. If so, no branch may depend on a tensor's values."""
    return torch.compiler.is_compiling() or bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


class Block(nn.Module):
    """Pre-norm block: attention across leads, attention along time, then a feed-forward layer."""

    def __init__(self, width: int, heads: int, mlp_ratio: int) -> None:
        super().__init__()
        self.norm_spatial = nn.LayerNorm(width)
        self.spatial = Attention(width, heads, Axis.LEADS)
        self.norm_temporal = nn.LayerNorm(width)
        self.temporal = Attention(width, heads, Axis.TIME)
        self.norm_mlp = nn.LayerNorm(width)
        self.mlp = FeedForward(width, mlp_ratio)

    def forward(self, h_BTCD: Tensor) -> Tensor:
        """Contextualise the tokens across leads, then along time, [B, T, C, D] → [B, T, C, D]."""
        h_BTCD = h_BTCD + self.spatial(self.norm_spatial(h_BTCD))
        h_BTCD = h_BTCD + self.temporal(self.norm_temporal(h_BTCD))
        return h_BTCD + self.mlp(self.norm_mlp(h_BTCD))  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """Stack of `depth` blocks and a final LayerNorm. It has 113 M parameters at the paper's size.

    If `checkpoint_activations` is True, training keeps only the blocks' inputs and recomputes the
    activations.
    """

    def __init__(self, width: int, depth: int, heads: int, mlp_ratio: int) -> None:
        super().__init__()
        self.checkpoint_activations = False
        self.blocks = nn.ModuleList(Block(width, heads, mlp_ratio) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.apply(init_linear)

    def forward(self, z_BTCD: Tensor) -> Tensor:
        """Contextualise the tokens Z, and return the output H, which has the shape of Z."""
        if z_BTCD.device.type == "cpu" and not (torch.is_grad_enabled() or being_traced()):
            # Records are independent, so without gradients they can be encoded in parts that fit the cache.
            records = max(1, CACHED_BYTES // max(1, z_BTCD[:1].nbytes))
            return torch.cat([self._contextualised(part_BTCD) for part_BTCD in torch.split(z_BTCD, records)])
        return self._contextualised(z_BTCD)

    def _contextualised(self, h_BTCD: Tensor) -> Tensor:
        for block in self.blocks:
            if self.checkpoint_activations and torch.is_grad_enabled():
                h_BTCD = checkpoint(block, h_BTCD, use_reentrant=False, preserve_rng_state=False)
            else:
                h_BTCD = block(h_BTCD)
        return self.norm(h_BTCD)  # type: ignore[no-any-return]
