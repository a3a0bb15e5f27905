"""View contrast: SimCLR's NT-Xent on two views of each record.

Shapes: B batch, D width, K projection width (d_view).
"""

from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.heads import MLP
from marecg.objectives.contrast import nt_xent
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Augmentation, Views
from marecg.settings import paper


class ViewConfig(ObjectiveConfig):
    """Settings of view contrast."""

    captions = {"view": "contrast of the two views of a record"}

    weight: float = paper(0.1, "§sec:values: λ_view", ge=0)
    tau: float = paper(0.07, "§sec:values: τ_view", gt=0)
    width: int = paper(256, "§sec:values: d_view", gt=0)
    augmentation: Augmentation = paper(
        "unconstrained", "Table component-ablation: rhythm-safe if MSPS is used"
    )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the operations per record of encoding the second view."""
        return Flops(encoder_flops(shape), 0)


class View(Objective, of=ViewConfig):
    """Objective that contrasts the masked view of a record with an augmented, unmasked view.

    The records of all processes of the run serve as negatives.
    """

    reaches = frozenset({"pool"})
    settings: ViewConfig

    def __init__(self, settings: ViewConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        width = parts.shape.width
        self.head = MLP(width, width, settings.width)

    def losses(self, views: Views) -> Losses:
        """Return the loss `view`."""
        first_BD = views.masked.rhythm_BD
        second_BD = views.clean(self.settings.augmentation).rhythm_BD
        projected = (views.all_ranks(self.head(first_BD)), views.all_ranks(self.head(second_BD)))
        return {"view": (1.0, nt_xent(*projected, self.settings.tau))}
