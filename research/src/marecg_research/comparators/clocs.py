"""CLOCS: Kiyasseh et al., Contrastive Learning of Cardiac Signals Across Space, Time, and Patients, 2021.

Shapes: B batch, T patches, C leads, D width.
"""

from torch import Tensor

from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.objectives.contrast import info_nce
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig
from marecg.objectives.views import Views
from marecg.settings import chosen


class ClocsConfig(ObjectiveConfig):
    """Settings of CLOCS with contrastive multi-segment coding, CMSC (arXiv:2005.13249).

    Each record counts as another patient. The other codings of CLOCS contrast leads. They aren't possible
    with MAR-ECG's encoder, which attends across leads.
    """

    captions = {"clocs": "contrast of a record's two halves with other records"}

    tau: float = chosen(0.1, "CLOCS's temperature", gt=0)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost that CLOCS adds to MAR-ECG's usual pass over the masked record.

        The two halves, which replace this pass, cost as much. The added cost is a pass over the whole record
        without gradients.
        """
        return Flops(0, encoder_flops(shape))


class Clocs(Objective, of=ClocsConfig):
    """Contrast the two halves of a record by h_rhythm, their pooled vector, in both directions."""

    reaches = frozenset({"pool"})
    settings: ClocsConfig

    def losses(self, views: Views) -> Losses:
        """Return the loss `clocs` of separately encoded halves."""
        view = views.clean()
        patches = view.h_BTCD.shape[1]
        half = patches // 2
        first_BD, second_BD = (
            views.all_ranks(
                view.pooled(view.part(start, start + half), view.real_BT[:, start : start + half])
            )
            for start in (0, half)
        )
        return {"clocs": (1.0, clocs_loss(first_BD, second_BD, self.settings.tau))}


def clocs_loss(first_BD: Tensor, second_BD: Tensor, tau: float) -> Tensor:
    """Return InfoNCE between the two halves of records, averaged over both directions."""
    return (info_nce(first_BD, second_BD, tau) + info_nce(second_BD, first_BD, tau)) / 2
