"""Concept space, in which the embedding of a record is compared with the prototype of each concept.

The softmax of the similarities over all concepts is the prediction q (eq. gscl-pred of the paper).

Shapes: B batch, N concepts, K concept width (d_c).
"""

from torch import Tensor
from torch.nn.functional import normalize

from marecg.nn.precision import in_float32


@in_float32
def concept_logits(h_BK: Tensor, prototypes_NK: Tensor, tau: float) -> Tensor:
    """Return the logits of q, [B, N]: the cosine of embedding and prototype, divided by the temperature τ.

    The computation is in float32 even under autocast.

    Args:
        h_BK: record embeddings in the concept space, not yet normalised.
        prototypes_NK: prototypes P, a row of unit length per concept.
        tau: temperature τ > 0.
    """
    return normalize(h_BK, dim=-1) @ prototypes_NK.T / tau
