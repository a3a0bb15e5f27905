"""Two augmented looks at each record: what the methods that contrast or match views begin with.

Shapes: B batch, D width.
"""

from torch import Tensor

from marecg.base.config import Augmentation, ModelConfig, chosen
from marecg.base.errors import ConfigError
from marecg.model.flops import Flops, encoder_flops
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.views import Pass, Views


class TwoViewsConfig(ObjectiveConfig):
    """The values of a method that looks at each record twice."""

    augmentation: Augmentation = chosen(
        "unconstrained", "crop, stretch, blank, noise and gain, in place of SimCLR's crop and colour"
    )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """The second look; the first stands in for the masked pass."""
        return Flops(encoder_flops(shape), 0)

    def looks(self, views: Views) -> tuple[Pass, Pass]:
        """The two, augmented independently."""
        return views.clean(self.augmentation), views.clean(self.augmentation, 1)


def over_batch(views: Views, h_BD: Tensor) -> Tensor:
    """The rows of all ranks, so that batch norm behind it sees the whole batch; gradients come back.

    Raises:
        ConfigError: there is one record, which has no statistics.
    """
    gathered_BD = views.all_ranks(h_BD)
    if len(gathered_BD) < 2:
        problem = "needs the statistics of a batch, and a step has one record"
        raise ConfigError(problem, where="train.batch_size", remedy="Set it to 64 or more")
    return gathered_BD
