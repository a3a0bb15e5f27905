"""The error of masked patches, each normalised by itself: what masked autoencoders are asked for.

Shapes: B batch, T patches, C leads, P samples per patch.
"""

from torch import Tensor

EPS = 1e-6
"""As in MAE: added to the variance of a patch."""


def masked_patch_loss(predicted_BTCP: Tensor, x_BTCP: Tensor, masked_BTC: Tensor, real_BT: Tensor) -> Tensor:
    """Mean squared error over the masked patches that hold no padding (MAE §3: normalised pixels).

    Args:
        x_BTCP: the patches; each is compared after its own mean and deviation are taken away.
    """
    centred_BTCP = x_BTCP - x_BTCP.mean(-1, keepdim=True)
    target_BTCP = centred_BTCP / (x_BTCP.var(-1, keepdim=True) + EPS).sqrt()
    error_BTC = (predicted_BTCP - target_BTCP).square().mean(-1)
    asked_BTC = masked_BTC & real_BT[..., None]
    return (error_BTC * asked_BTC).sum() / asked_BTC.sum().clamp(min=1)
