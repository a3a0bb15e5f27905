"""The concept space: where a record's embedding meets the prototypes (eq. gscl-pred).

Shapes: B batch, N concepts, K concept width (d_c).
"""

from torch import Tensor
from torch.nn.functional import normalize

from marecg.nn.precision import in_float32


@in_float32
def concept_logits(h_BK: Tensor, prototypes_NK: Tensor, tau: float) -> Tensor:
    """⟨ĥ, p̂_c⟩ / τ: the logits of q, [B, N], in float32 under autocast too.

    Args:
        h_BK: W_sca h_rhythm, not yet normalised.
        prototypes_NK: P, rows on the unit sphere.
        tau: τ > 0.
    """
    return normalize(h_BK, dim=-1) @ prototypes_NK.T / tau
