"""Graph-smoothed contrastive learning: eq. gscl-loss. The prediction q is in `marecg.nn.concepts`.

Shapes: B batch, N concepts.
"""

from torch import Tensor
from torch.nn.functional import log_softmax


def gscl_loss(logits_BN: Tensor, target_BN: Tensor) -> Tensor:
    """Cross-entropy of the soft target t against q, averaged over the records that have a target.

    A record that resolves to roots only has an all-zero row in `target_BN` and leaves the loss.
    """
    supervised_B = target_BN.sum(-1) > 0
    entropy_B = -(target_BN * log_softmax(logits_BN, dim=-1)).sum(-1)
    return (entropy_B * supervised_B).sum() / supervised_B.sum().clamp(min=1)
