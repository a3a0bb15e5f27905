"""Latent prediction (§subsec:auxiliary, I-JEPA style).

Shapes: B batch, T patches, C leads, D width.
"""

from torch import Tensor
from torch.nn.functional import layer_norm, smooth_l1_loss


def jepa_loss(predicted_BTCD: Tensor, target_BTCD: Tensor, masked_BTC: Tensor) -> Tensor:
    """Smooth-L1 between the prediction and the EMA encoder's tokens, LayerNormed, at the masked positions.

    Args:
        predicted_BTCD: the predictor's output.
        target_BTCD: the EMA encoder's H of the unmasked record; no gradient flows into it.
        masked_BTC: bool; elsewhere nothing is asked.
    """
    target_BTCD = layer_norm(target_BTCD.detach(), target_BTCD.shape[-1:])
    error_BTC = smooth_l1_loss(predicted_BTCD, target_BTCD, reduction="none").mean(-1)
    return (error_BTC * masked_BTC).sum() / masked_BTC.sum().clamp(min=1)
