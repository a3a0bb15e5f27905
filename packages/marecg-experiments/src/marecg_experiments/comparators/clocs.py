"""CLOCS: Kiyasseh et al., Contrastive Learning of Cardiac Signals Across Space, Time and Patients, 2021.

Shapes: B batch, T patches, C leads, D width.
"""

from torch import Tensor

from marecg.base.config import ModelConfig, chosen
from marecg.model.flops import Flops, encoder_flops
from marecg.objectives.contrast import info_nce
from marecg.objectives.objective import Objective, ObjectiveConfig
from marecg.objectives.views import Views


class ClocsConfig(ObjectiveConfig):
    """Contrastive multi-segment coding, CMSC (arXiv:2005.13249): two halves of a record belong together.

    Every record counts as a patient of its own: the prepared corpus doesn't know patients. Its other codings
    contrast leads, which an encoder that attends across them does not keep apart.
    """

    captions = {"clocs": "contrast of a record's two halves with other records"}

    tau: float = chosen(0.1, "CLOCS's temperature", gt=0)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """The halves stand in for the masked pass; the whole is looked at and not learnt from."""
        return Flops(0, encoder_flops(shape))


class Clocs(Objective, of=ClocsConfig):
    """h_rhythm of the first half finds that of the second among all records, and the other way round."""

    reaches = frozenset({"pool"})
    settings: ClocsConfig

    def losses(self, views: Views) -> dict[str, Tensor]:
        """`clocs`; each half is encoded without the other."""
        seen = views.clean()
        patches = seen.h_BTCD.shape[1]
        half = patches // 2
        first_BD, second_BD = (
            views.all_ranks(
                seen.pooled(seen.part(start, start + half), seen.real_BT[:, start : start + half])
            )
            for start in (0, half)
        )
        return {"clocs": clocs_loss(first_BD, second_BD, self.settings.tau)}


def clocs_loss(first_BD: Tensor, second_BD: Tensor, tau: float) -> Tensor:
    """InfoNCE of either half among the other halves of the batch; the mean of both ways."""
    return (info_nce(first_BD, second_BD, tau) + info_nce(second_BD, first_BD, tau)) / 2
