"""A slow network beside the model: its tokens, encoder, pool and projector, followed by moving average.

Shapes: B batch, T patches, D width, K projection width.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from marecg.base.config import ModelConfig, chosen
from marecg.model.flops import Flops, encoder_flops
from marecg.model.mar_ecg import MarEcg
from marecg.nn.ema import Ema, momentum_at
from marecg.nn.encoder import Encoder
from marecg.objectives.comparators.two_views import TwoViewsConfig, over_batch
from marecg.objectives.objective import Objective, Parts
from marecg.objectives.views import Pass, Views


class MomentumConfig(TwoViewsConfig):
    """The values of a method with a slow network."""

    momentum: float = chosen(0.996, "BYOL and DINO; it rises to 1 by the end of the run", ge=0, le=1)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """The second look, and both by the slow network, which only follows."""
        return Flops(encoder_flops(shape), 2 * encoder_flops(shape))


class Momentum(Objective):
    """An objective with a projector and a slow copy of everything up to its end, which takes no gradient."""

    settings: MomentumConfig

    def __init__(self, settings: MomentumConfig, parts: Parts, projector: nn.Module) -> None:
        super().__init__(settings)
        self.projector = projector
        self.slow = Ema(self._followed(parts.model))

    def projected(self, views: Views, seen: Pass) -> Tensor:
        """The model's projection of a look, over all ranks, [B, K]."""
        return self.projector(over_batch(views, seen.rhythm_BD))  # type: ignore[no-any-return]

    @torch.no_grad()
    def slowly_projected(self, views: Views, seen: Pass) -> Tensor:
        """The slow network's projection of the same look, over all ranks, [B, K]."""
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
