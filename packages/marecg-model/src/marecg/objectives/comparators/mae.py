"""MAE: He et al., Masked Autoencoders Are Scalable Vision Learners, CVPR 2022; on (lead, patch) tokens.

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


class MaeConfig(NarrowConfig):
    """Masked patches from the rest, by a decoder that sees all leads (arXiv:2111.06377).

    The encoder reads the learned token in a masked pair's place: attention along rows and columns of a grid
    can't leave pairs out one by one, as MAE does to save time.
    """

    captions: ClassVar[Mapping[str, str]] = {"mae": "error at masked patches"}

    def build(self, parts: Parts) -> "Mae":
        """The decoder."""
        return Mae(self, parts)


class Mae(Objective):
    """A factorised, bidirectional decoder over the context."""

    def __init__(self, settings: MaeConfig, parts: Parts) -> None:
        super().__init__(settings)
        self.decoder = settings.predictor(parts.shape, len(LEADS), outputs=parts.shape.patch)

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`mae`, asked for at M."""
        seen = views.masked
        x_BTCP = seen.x_BSCP[:, : seen.h_BTCD.shape[1]]
        return {"mae": masked_patch_loss(self.decoder(seen.h_BTCD), x_BTCP, seen.masked_BTC, seen.real_BT)}
