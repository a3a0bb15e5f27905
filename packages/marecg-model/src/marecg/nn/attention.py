"""Multi-head self-attention along one axis of the token tensor, and the feed-forward layer.

The layout [B, T, C, D] lets attention run along both axes without a copy. The leads of a timestep are viewed
as [B·T, H, C, K], and the timesteps of a lead as [B, C·H, T, K].

Shapes: B batch, T patches, C leads, D width, H heads, K = D / H.
"""

from enum import Enum

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class Axis(Enum):
    """Axis along which tokens attend to each other."""

    LEADS = "leads"
    TIME = "time"


class Attention(nn.Module):
    """Self-attention along `axis`. If `causal` is True, a timestep doesn't see later timesteps."""

    def __init__(self, width: int, heads: int, axis: Axis, *, causal: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.axis = axis
        self.causal = causal
        # Three matrix products rather than a single one, because attention uses their outputs without a copy.
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, h_BTCD: Tensor) -> Tensor:
        """Mix tokens along the axis, [B, T, C, D] → [B, T, C, D]."""
        query, key, value = (self._split(part(h_BTCD)) for part in (self.query, self.key, self.value))
        mixed = scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(h_BTCD.shape))  # type: ignore[no-any-return]

    def _split(self, h_BTCD: Tensor) -> Tensor:
        batch, time, leads, width = h_BTCD.shape
        head_width = width // self.heads
        if self.axis is Axis.LEADS:
            return h_BTCD.view(batch * time, leads, self.heads, head_width).transpose(1, 2)
        return h_BTCD.view(batch, time, leads * self.heads, head_width).transpose(1, 2)


class FeedForward(nn.Sequential):
    """Two linear maps with a GELU between them, applied to each token."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__(nn.Linear(width, ratio * width), nn.GELU(), nn.Linear(ratio * width, width))


def init_linear(module: nn.Module) -> None:
    """Initialise a linear layer as MAE does: Xavier uniform weights, zero biases.

    Pass this function to `nn.Module.apply`. The spread of the weights depends on the width. A fixed standard
    deviation of 0.02 would be too small for narrow encoders.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
