"""Reconstruction of masked patches: MAE and ST-MEM.

MAE is He et al., Masked Autoencoders Are Scalable Vision Learners, CVPR 2022. Here its tokens are (lead,
patch) pairs. ST-MEM is Na et al., Guiding Masked Representation Learning to Capture Spatio-Temporal
Relationship of Electrocardiogram, ICLR 2024. It is implemented from the paper, without the authors' code.

Shapes: B batch, S patches of the window, T of the context, C leads, P samples per patch, D width.
"""

from torch import Tensor

from ecg_records.signal.leads import LEADS
from marecg.objectives.objective import Losses, NarrowConfig, Objective, Parts
from marecg.objectives.views import Views

EPS = 1e-6
"""Number that is added to the variance of a patch, as in MAE."""


def masked_patch_loss(predicted_BTCP: Tensor, x_BTCP: Tensor, masked_BTC: Tensor, real_BT: Tensor) -> Tensor:
    """Return the mean squared error over masked patches without padding.

    Args:
        predicted_BTCP: predictions of standardised patches (MAE §3, "normalized pixels").
        x_BTCP: patches. Each is standardised by its own mean and standard deviation.
        masked_BTC: whether each patch is masked.
        real_BT: whether each patch has no padding.
    """
    centred_BTCP = x_BTCP - x_BTCP.mean(-1, keepdim=True)
    target_BTCP = centred_BTCP / (x_BTCP.var(-1, keepdim=True) + EPS).sqrt()
    error_BTC = (predicted_BTCP - target_BTCP).square().mean(-1)
    counted_BTC = masked_BTC & real_BT[..., None]
    return (error_BTC * counted_BTC).sum() / counted_BTC.sum().clamp(min=1)


class MaskedPatches(Objective):
    """Reconstruct the context's masked patches with a decoder that reads `leads` leads at a time."""

    leads = len(LEADS)

    def __init__(self, settings: NarrowConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.decoder = settings.predictor(parts.shape, self.leads, outputs=parts.shape.patch)

    def losses(self, views: Views) -> Losses:
        """Return the loss of reconstruction."""
        view, [name] = views.masked, self.settings.captions
        x_BTCP = view.x_BSCP[:, : view.h_BTCD.shape[1]]
        predicted_BTCP = self.decoded(view.h_BTCD)
        return {name: (1.0, masked_patch_loss(predicted_BTCP, x_BTCP, view.masked_BTC, view.real_BT))}

    def decoded(self, h_BTCD: Tensor) -> Tensor:
        """Return the predicted patches [B, T, C, P]."""
        return self.decoder(h_BTCD)  # type: ignore[no-any-return]


class MaeConfig(NarrowConfig):
    """Settings of MAE (arXiv:2111.06377).

    MAE leaves masked tokens out of the encoder to save time. MAR-ECG's encoder attends along rows and columns
    of a grid, so single tokens can't be left out. It reads a learned token instead.
    """

    captions = {"mae": "error at masked patches"}


class Mae(MaskedPatches, of=MaeConfig):
    """Reconstruct masked patches with a factorised, bidirectional decoder of all leads."""


class StmemConfig(NarrowConfig):
    """Settings of ST-MEM (arXiv:2402.09450).

    The decoder reads each lead separately, so the encoder must learn the relations between leads. ST-MEM
    marks the ends of leads with [SEP] tokens. On MAR-ECG's grid of tokens, they aren't needed.
    """

    captions = {"stmem": "error at masked patches, lead by lead"}


class Stmem(MaskedPatches, of=StmemConfig):
    """Reconstruct masked patches with a decoder that reads the encoder's output H of each lead separately."""

    leads = 1

    def decoded(self, h_BTCD: Tensor) -> Tensor:
        """Return the predicted patches [B, T, C, P]. A lead's patches depend only on its own H."""
        by_lead_BcT1D = h_BTCD.transpose(1, 2).flatten(0, 1).unsqueeze(2)
        predicted_BcT1P = self.decoder(by_lead_BcT1D)
        return predicted_BcT1P.squeeze(2).unflatten(0, (len(h_BTCD), len(LEADS))).transpose(1, 2)  # type: ignore[no-any-return]
