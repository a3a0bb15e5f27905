"""Two augmented looks at each record, and a slow network that follows the model's by moving average.

Shapes: B batch, T patches, D width, K projection width.
"""

from collections.abc import Iterable
from typing import ClassVar

import torch
from torch import Tensor, nn

from marecg.base.config import Augmentation, ModelConfig, chosen
from marecg.base.errors import ConfigError
from marecg.model.flops import Flops, encoder_flops
from marecg.model.mar_ecg import MarEcg
from marecg.nn.ema import Ema, momentum_at
from marecg.nn.encoder import Encoder
from marecg.objectives.objective import Objective, ObjectiveConfig, Part, Parts
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


class TwoViews(Objective):
    """An objective that projects h_rhythm of both looks."""

    reaches: ClassVar[frozenset[Part]] = frozenset({"pool"})
    settings: TwoViewsConfig

    def __init__(self, settings: TwoViewsConfig, projector: nn.Module) -> None:
        super().__init__(settings)
        self.projector = projector

    def projected(self, views: Views, seen: Pass) -> Tensor:
        """The projection of a look, over all ranks, [B, K]."""
        return self.projector(over_batch(views, seen.rhythm_BD))  # type: ignore[no-any-return]

    def both(self, views: Views) -> tuple[Tensor, Tensor]:
        """The projections of the two looks."""
        first, second = self.settings.looks(views)
        return self.projected(views, first), self.projected(views, second)


class MomentumConfig(TwoViewsConfig):
    """The values of a method with a slow network."""

    momentum: float = chosen(0.996, "BYOL and DINO; it rises to 1 by the end of the run", ge=0, le=1)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """The second look, and both by the slow network, which only follows."""
        return Flops(encoder_flops(shape), 2 * encoder_flops(shape))


class Momentum(TwoViews):
    """A slow copy of everything up to the projector's end, which takes no gradient, beside it."""

    settings: MomentumConfig

    def __init__(self, settings: MomentumConfig, parts: Parts, projector: nn.Module) -> None:
        super().__init__(settings, projector)
        self.slow = Ema(self._followed(parts.model))

    def pairs(self, views: Views) -> list[tuple[Tensor, Tensor]]:
        """Each look's projection beside the slow network's of the other look."""
        first, second = self.settings.looks(views)
        return [
            (self.projected(views, one), self.slowly_projected(views, other))
            for one, other in ((first, second), (second, first))
        ]

    @torch.no_grad()
    def slowly_projected(self, views: Views, seen: Pass) -> Tensor:
        """The slow network's projection of a look, over all ranks, [B, K]."""
        tokens, encoder, pool, projector = self._slow_parts()
        rhythm_BD = pool(seen.by(tokens, encoder), seen.real_BT)
        return projector(over_batch(views, rhythm_BD))  # type: ignore[no-any-return]

    def after_step(self, model: MarEcg, step: int, total_steps: int) -> None:
        """The slow network follows."""
        self.slow.update(self._followed(model), momentum_at(step, total_steps, self.settings.momentum))

    def encoders(self) -> Iterable[Encoder]:
        """The slow one."""
        encoder = self._slow_parts()[1]
        assert isinstance(encoder, Encoder)
        return (encoder,)

    def _followed(self, model: MarEcg) -> nn.ModuleList:
        return nn.ModuleList([model.tokens, model.encoder, model.pool, self.projector])

    def _slow_parts(self) -> list[nn.Module]:
        slow = self.slow.module
        assert isinstance(slow, nn.ModuleList)
        return list(slow)
