"""Latent prediction in the style of I-JEPA.

The model predicts the encoder's output for masked patches, not the signal. The targets come from a slow
encoder, an exponential moving average (EMA) of the trained encoder.

Shapes: B batch, T patches, C leads, D width.
"""

from collections.abc import Iterable

from torch import Tensor, nn
from torch.nn.functional import layer_norm, smooth_l1_loss

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.model.mar_ecg import MarEcg
from marecg.nn.ema import Ema, momentum_at
from marecg.nn.encoder import Encoder
from marecg.objectives.objective import Losses, NarrowConfig, Objective, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen, paper


class JepaConfig(NarrowConfig):
    """Settings of latent prediction (JEPA)."""

    captions = {"jepa": "error of latent prediction"}

    weight: float = paper(0.15, "§sec:values: λ_JEPA", ge=0)
    momentum: float = paper(0.996, "§sec:values; it rises to 1 by the end of the run", ge=0, le=1)
    horizon: float | None = chosen(
        None, "share of the run over which the slow encoder averages; replaces `momentum`", gt=0, le=1
    )

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the operations per record of the trained predictor and of the slow encoder."""
        return Flops(super().flops(shape, window_patches).learning, encoder_flops(shape))


class Jepa(Objective, of=JepaConfig):
    """Objective that predicts the output of the slow encoder.

    The slow encoder reads the unmasked record. The predictor reads the trained encoder's output for the
    masked record, and predicts the slow encoder's output for the masked patches.
    """

    settings: JepaConfig

    def __init__(self, settings: JepaConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.ema = Ema(_followed(parts.model))
        self.predictor = settings.predictor(parts.shape, len(LEADS))

    def losses(self, views: Views) -> Losses:
        """Return the loss `jepa`, averaged over masked patches without padding."""
        view = views.masked
        target_BTCD = views.slow(*self._slow())
        scored_BTC = view.masked_BTC & view.real_BT[..., None]
        return {"jepa": (1.0, jepa_loss(self.predictor(view.h_BTCD), target_BTCD, scored_BTC))}

    def after_step(self, model: MarEcg, step: int, total_steps: int) -> None:
        """Update the slow encoder."""
        start, horizon = self.settings.momentum, self.settings.horizon
        if horizon is not None:
            start = 1 - 1 / max(1.0, horizon * total_steps)
        self.ema.update(_followed(model), momentum_at(step, total_steps, start))

    def encoders(self) -> Iterable[Encoder]:
        """Return the slow encoder."""
        encoder = self._slow()[1]
        assert isinstance(encoder, Encoder)
        return (encoder,)

    def _slow(self) -> tuple[nn.Module, nn.Module]:
        slow = self.ema.module
        assert isinstance(slow, nn.ModuleList)
        return slow[0], slow[1]


def jepa_loss(predicted_BTCD: Tensor, target_BTCD: Tensor, scored_BTC: Tensor) -> Tensor:
    """Return the smooth-L1 error of predictions against the slow encoder's output, normalised per token.

    Args:
        target_BTCD: output of the slow encoder for the unmasked record. No gradient flows into it.
        predicted_BTCD: the predictor's output.
        scored_BTC: bool, the masked positions without padding.
    """
    target_BTCD = layer_norm(target_BTCD.detach(), target_BTCD.shape[-1:])
    error_BTC = smooth_l1_loss(predicted_BTCD, target_BTCD, reduction="none").mean(-1)
    return (error_BTC * scored_BTC).sum() / scored_BTC.sum().clamp(min=1)


def _followed(model: MarEcg) -> nn.ModuleList:
    """Return the modules of which the slow encoder is an average. They are the model's own, not copies."""
    return nn.ModuleList([model.tokens, model.encoder])
