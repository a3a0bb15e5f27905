"""Masked autoregressive reconstruction (§Backbone of the paper): L_AR = L_recon + L_mask.

L_recon is the error of the predicted patches after the encoder's context. L_mask is the error of the
predicted patches that were masked in the context.

Shapes: B batch, S patches (T of the context, then the trailing ones), C leads, P samples per patch, D width.
"""

from torch import Tensor

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, decoder_flops
from marecg.nn.decoder import Decoder
from marecg.objectives.objective import Losses, NarrowConfig, Objective, Parts
from marecg.objectives.views import Views


class ArConfig(NarrowConfig):
    """Settings of masked autoregressive reconstruction."""

    captions = {"recon": "error of the patches after the context", "mask": "error of the masked patches"}

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the operations per record of the decoder."""
        return Flops(decoder_flops(self.width, self.depth, shape.mlp_ratio, window_patches), 0)


class Ar(Objective, of=ArConfig):
    """Objective with a causal decoder, which reconstructs masked patches and patches after the context."""

    def __init__(self, settings: ArConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        shape = parts.shape
        self.decoder = Decoder(
            len(LEADS),
            shape.positions,
            shape.patch,
            shape.stride,
            shape.width,
            settings.width,
            settings.depth,
            settings.heads,
            shape.mlp_ratio,
        )

    def losses(self, views: Views) -> Losses:
        """Return the losses `recon` and `mask`; L_AR is their sum."""
        view = views.masked
        losses = ar_losses(
            self.decoder(view.h_BTCD, view.x_BSCP), view.x_BSCP, view.masked_BTC, ~view.hidden_BSC
        )
        return {name: (1.0, value) for name, value in losses.items()}


def ar_losses(
    predicted_BSCP: Tensor, target_BSCP: Tensor, masked_BTC: Tensor, real_BSC: Tensor
) -> dict[str, Tensor]:
    """Return the mean squared errors of the predicted patches, in units of the normalised signal.

    Args:
        predicted_BSCP: the decoder's output.
        target_BSCP: normalised signal.
        masked_BTC: bool, True if the patch of a lead was masked. The last S − T patches follow the context.
        real_BSC: bool, False for padding and absent leads, which are ignored.

    Returns:
        `recon`, the error over the patches after the context, and `mask`, the error over the masked patches.
    """
    error_BSC = (predicted_BSCP - target_BSCP).square().mean(-1)
    context = masked_BTC.shape[1]
    return {
        "recon": _mean_where(error_BSC[:, context:], real_BSC[:, context:]),
        "mask": _mean_where(error_BSC[:, :context], real_BSC[:, :context] & masked_BTC),
    }


def _mean_where(value: Tensor, counted: Tensor) -> Tensor:
    return (value * counted).sum() / counted.sum().clamp(min=1)
