"""The concept space: where a record's embedding meets the prototypes (eq. gscl-pred).

Shapes: B batch, N concepts, K concept width (d_c).
"""

from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn.functional import normalize


def concept_logits(h_BK: Tensor, prototypes_NK: Tensor, tau: float) -> Tensor:
    """⟨ĥ, p̂_c⟩ / τ: the logits of q, [B, N], in float32 under autocast too.

    Args:
        h_BK: W_sca h_rhythm, not yet normalised.
        prototypes_NK: P, rows on the unit sphere.
        tau: τ > 0.
    """
    device = h_BK.device.type
    autocast = torch.amp.is_autocast_available(device)  # not where tensors have no values
    with torch.autocast(device, enabled=False) if autocast else nullcontext():  # 1/τ blows bf16's rounding up
        return normalize(h_BK.float(), dim=-1) @ prototypes_NK.float().T / tau
