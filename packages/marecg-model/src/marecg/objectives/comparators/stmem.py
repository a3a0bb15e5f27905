"""ST-MEM, made from the paper alone: Na et al., ICLR 2024.

Guiding Masked Representation Learning to Capture Spatio-Temporal Relationship of Electrocardiogram.

Shapes: B batch, S patches of the window, T of the context, C leads, P samples per patch, D width.
"""

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from marecg.base.config import LEADS
from marecg.objectives.comparators.masked_patches import masked_patch_loss
from marecg.objectives.narrow import NarrowConfig
from marecg.objectives.objective import Objective, Parts
from marecg.objectives.views import Views


class StmemConfig(NarrowConfig):
    """Masked patches lead by lead, by a decoder that no other lead can help (arXiv:2402.09450).

    What one lead tells of another the encoder must have learnt. Its [SEP] tokens are left out: our tokens lie
    on a grid, so leads have no ends to be marked.
    """

    captions: ClassVar[Mapping[str, str]] = {"stmem": "error at masked patches, lead by lead"}

    def build(self, parts: Parts) -> "Stmem":
        """The decoder that all leads share."""
        return Stmem(self, parts)


class Stmem(Objective):
    """One decoder, given each lead's H as a record of its own."""

    def __init__(self, settings: StmemConfig, parts: Parts) -> None:
        super().__init__(settings)
        self.decoder = settings.predictor(parts.shape, 1, outputs=parts.shape.patch)

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`stmem`, asked for at M."""
        seen = views.masked
        x_BTCP = seen.x_BSCP[:, : seen.h_BTCD.shape[1]]
        predicted_BTCP = self.decoded(seen.h_BTCD)
        return {"stmem": masked_patch_loss(predicted_BTCP, x_BTCP, seen.masked_BTC, seen.real_BT)}

    def decoded(self, h_BTCD: Tensor) -> Tensor:
        """x̂ [B, T, C, P]; what it says of a lead depends on that lead's H alone."""
        alone_BcT1D = h_BTCD.transpose(1, 2).flatten(0, 1).unsqueeze(2)
        predicted_BcT1P = self.decoder(alone_BcT1D)
        return predicted_BcT1P.squeeze(2).unflatten(0, (len(h_BTCD), len(LEADS))).transpose(1, 2)  # type: ignore[no-any-return]
