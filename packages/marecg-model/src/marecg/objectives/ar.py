"""Masked autoregressive reconstruction: L_AR = L_recon + L_mask (§Backbone).

Shapes: B batch, S patches (context and trailing ones), C leads, P samples per patch.
"""

from torch import Tensor


def ar_losses(
    predicted_BSCP: Tensor, target_BSCP: Tensor, masked_BTC: Tensor, real_BS: Tensor
) -> dict[str, Tensor]:
    """The two mean squared errors, in units of the normalised signal.

    Args:
        predicted_BSCP: x̂ over the whole record window.
        target_BSCP: the patches themselves, after RevIN.
        masked_BTC: bool, the index set M inside the encoder's context; the other S − T patches trail.
        real_BS: bool, False at patches that hold padding; those count for nothing.

    Returns:
        `recon` over the prediction window and `mask` over M.
    """
    error_BSC = (predicted_BSCP - target_BSCP).square().mean(-1)
    real_BSC = real_BS[..., None].expand_as(error_BSC)
    context = masked_BTC.shape[1]
    return {
        "recon": _mean_where(error_BSC[:, context:], real_BSC[:, context:]),
        "mask": _mean_where(error_BSC[:, :context], real_BSC[:, :context] & masked_BTC),
    }


def _mean_where(value: Tensor, counted: Tensor) -> Tensor:
    return (value * counted).sum() / counted.sum().clamp(min=1)
