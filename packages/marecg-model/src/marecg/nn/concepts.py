"""Concept space: similarity of a record's embedding to the prototypes (eq. gscl-pred).

Shapes: B batch, N concepts, K concept width (d_c).
"""

from torch import Tensor
from torch.nn.functional import normalize

from marecg.nn.precision import in_float32


@in_float32
def concept_logits(h_BK: Tensor, prototypes_NK: Tensor, tau: float) -> Tensor:
    """Return the logits of q, ⟨ĥ, p̂_c⟩ / τ, [B, N], always in float32.

    Args:
        h_BK: W_sca h_rhythm, not yet normalised.
        prototypes_NK: P, with rows of unit length.
        tau: τ > 0.
    """
    return normalize(h_BK, dim=-1) @ prototypes_NK.T / tau
