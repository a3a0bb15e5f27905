"""Reconstruction of masked patches: MAE, He et al., CVPR 2022, and ST-MEM, Na et al., ICLR 2024.

Masked Autoencoders Are Scalable Vision Learners, on (lead, patch) tokens; Guiding Masked Representation
Learning to Capture Spatio-Temporal Relationship of Electrocardiogram, made from the paper alone.

Shapes: B batch, S patches of the window, T of the context, C leads, P samples per patch, D width.
"""

from torch import Tensor

from ecg_records.signal.leads import LEADS
from marecg.objectives.objective import Losses, NarrowConfig, Objective, Parts
from marecg.objectives.views import Views

EPS = 1e-6
"""As in MAE: added to the variance of a patch."""


def masked_patch_loss(predicted_BTCP: Tensor, x_BTCP: Tensor, masked_BTC: Tensor, real_BT: Tensor) -> Tensor:
    """Return mean squared error over masked patches without padding (MAE §3: normalised pixels).

    Args:
        x_BTCP: the patches; each is compared after its own mean and deviation are taken away.
    """
    centred_BTCP = x_BTCP - x_BTCP.mean(-1, keepdim=True)
    target_BTCP = centred_BTCP / (x_BTCP.var(-1, keepdim=True) + EPS).sqrt()
    error_BTC = (predicted_BTCP - target_BTCP).square().mean(-1)
    asked_BTC = masked_BTC & real_BT[..., None]
    return (error_BTC * asked_BTC).sum() / asked_BTC.sum().clamp(min=1)


class MaskedPatches(Objective):
    """Reconstruction of the context's masked patches (M) by a decoder that reads `leads` leads at a time."""

    leads = len(LEADS)

    def __init__(self, settings: NarrowConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.decoder = settings.predictor(parts.shape, self.leads, outputs=parts.shape.patch)

    def losses(self, views: Views) -> Losses:
        """Return the reconstruction loss."""
        view, [name] = views.masked, self.settings.captions
        x_BTCP = view.x_BSCP[:, : view.h_BTCD.shape[1]]
        predicted_BTCP = self.decoded(view.h_BTCD)
        return {name: (1.0, masked_patch_loss(predicted_BTCP, x_BTCP, view.masked_BTC, view.real_BT))}

    def decoded(self, h_BTCD: Tensor) -> Tensor:
        """Return x̂ [B, T, C, P]."""
        return self.decoder(h_BTCD)  # type: ignore[no-any-return]


class MaeConfig(NarrowConfig):
    """Masked patches by a decoder of all leads (arXiv:2111.06377).

    The encoder reads the learned token in a masked pair's place: attention along rows and columns of a grid
    can't leave pairs out one by one, as MAE does to save time.
    """

    captions = {"mae": "error at masked patches"}


class Mae(MaskedPatches, of=MaeConfig):
    """Reconstruction of masked patches by a factorised, bidirectional decoder."""


class StmemConfig(NarrowConfig):
    """Masked patches lead by lead, without help from other leads (arXiv:2402.09450).

    What one lead tells of another the encoder must have learnt. Its [SEP] tokens are left out: our tokens lie
    on a grid, so leads have no ends to be marked.
    """

    captions = {"stmem": "error at masked patches, lead by lead"}


class Stmem(MaskedPatches, of=StmemConfig):
    """Reconstruction of masked patches by a decoder that reads each lead's H alone."""

    leads = 1

    def decoded(self, h_BTCD: Tensor) -> Tensor:
        """Return x̂ [B, T, C, P], where a lead's part depends on its own H alone."""
        alone_BcT1D = h_BTCD.transpose(1, 2).flatten(0, 1).unsqueeze(2)
        predicted_BcT1P = self.decoder(alone_BcT1D)
        return predicted_BcT1P.squeeze(2).unflatten(0, (len(h_BTCD), len(LEADS))).transpose(1, 2)  # type: ignore[no-any-return]
