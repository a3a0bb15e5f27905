"""Methods with a slow copy of the network: BYOL, MoCo v3 and DINO.

Grill et al., Bootstrap Your Own Latent, NeurIPS 2020. Chen, Xie & He, An Empirical Study of Training
Self-Supervised Vision Transformers, ICCV 2021. Caron et al., Emerging Properties in Self-Supervised Vision
Transformers, ICCV 2021. The slow network is a moving average of the trained
tokens, encoder, pool and projector.

Shapes: B batch, T patches, D width, K projection width (in DINO, the number of prototypes).
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, linear, normalize

from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.model.mar_ecg import MarEcg
from marecg.nn.attention import init_linear
from marecg.nn.ema import Ema, momentum_at
from marecg.nn.encoder import Encoder
from marecg.nn.heads import BatchNormMLP
from marecg.nn.precision import in_float32
from marecg.objectives.contrast import info_nce
from marecg.objectives.objective import Losses, Parts
from marecg.objectives.views import Pass, Views
from marecg.settings import chosen
from marecg_research.comparators.two_views import TwoViews, TwoViewsConfig, over_batch


class MomentumConfig(TwoViewsConfig):
    """Settings of a method with a slow network."""

    momentum: float = chosen(0.996, "BYOL and DINO; it rises to 1 by the end of the run", ge=0, le=1)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost of the passes over the second view, and over both views by the slow network."""
        return Flops(encoder_flops(shape), 2 * encoder_flops(shape))


class Momentum(TwoViews):
    """Objective with a slow copy of the network up to the projector. The copy gets no gradients."""

    settings: MomentumConfig

    def __init__(self, settings: MomentumConfig, parts: Parts, projector: nn.Module) -> None:
        super().__init__(settings, parts, projector)
        self.slow = Ema(self._followed(parts.model))

    def pairs(self, views: Views) -> list[tuple[Tensor, Tensor]]:
        """Return each view's projection, paired with the slow network's projection of the other view."""
        first, second = self.settings.looks(views)
        return [
            (self.projected(views, view), self.slowly_projected(views, other_view))
            for view, other_view in ((first, second), (second, first))
        ]

    @torch.no_grad()
    def slowly_projected(self, views: Views, view: Pass) -> Tensor:
        """Return the slow network's projection of a view for the records of all ranks, [B, K]."""
        tokens, encoder, pool, projector = self._slow_parts()
        rhythm_BD = pool(view.by(tokens, encoder), view.real_BT)
        return projector(over_batch(views, rhythm_BD))  # type: ignore[no-any-return]

    def after_step(self, model: MarEcg, step: int, total_steps: int) -> None:
        """Update the slow network."""
        self.slow.update(self._followed(model), momentum_at(step, total_steps, self.settings.momentum))

    def encoders(self) -> Iterable[Encoder]:
        """Return the slow encoder."""
        encoder = self._slow_parts()[1]
        assert isinstance(encoder, Encoder)
        return (encoder,)

    def _followed(self, model: MarEcg) -> nn.ModuleList:
        return nn.ModuleList([model.tokens, model.encoder, model.pool, self.projector])

    def _slow_parts(self) -> list[nn.Module]:
        slow = self.slow.module
        assert isinstance(slow, nn.ModuleList)
        return list(slow)


class ByolConfig(MomentumConfig):
    """Settings of BYOL (arXiv:2006.07733)."""

    captions = {"byol": "prediction of the other view's slow projection"}

    hidden: int = chosen(4096, "BYOL: hidden width of projector and predictor", gt=0)
    outputs: int = chosen(256, "BYOL: width of the projection", gt=0)


class Byol(Momentum, of=ByolConfig):
    """Predict the slow network's projection of the other view, in both directions."""

    def __init__(self, settings: ByolConfig, parts: Parts) -> None:
        hidden, outputs = settings.hidden, settings.outputs
        super().__init__(settings, parts, BatchNormMLP(parts.shape.width, hidden, outputs))
        self.predictor = BatchNormMLP(outputs, hidden, outputs)

    def losses(self, views: Views) -> Losses:
        """Return the loss `byol`."""
        terms = [byol_loss(self.predictor(z_BK), slow_BK) for z_BK, slow_BK in self.pairs(views)]
        return {"byol": (1.0, terms[0] + terms[1])}


def byol_loss(predicted_BK: Tensor, target_BK: Tensor) -> Tensor:
    """Return the mean of 2 − 2 cos between predictions and targets (BYOL eq. 2). Targets get no gradient."""
    return (2 - 2 * cosine_similarity(predicted_BK, target_BK.detach(), dim=-1)).mean()


class MocoConfig(MomentumConfig):
    """Settings of MoCo v3 (arXiv:2104.02057), which contrasts queries with a slow network's keys.

    The projection of patches is trained. MoCo v3 freezes it, because batches of thousands are unstable.
    """

    captions = {"moco": "contrast of a view with the other's slow keys"}

    momentum: float = chosen(0.99, "MoCo v3; it rises to 1 by the end of the run", ge=0, le=1)
    tau: float = chosen(0.2, "MoCo v3 with ViT", gt=0)
    hidden: int = chosen(4096, "MoCo v3: hidden width of projector and predictor", gt=0)
    outputs: int = chosen(256, "MoCo v3: width of queries and keys", gt=0)


class Moco(Momentum, of=MocoConfig):
    """Contrast each query with the keys of the other view, in both directions."""

    settings: MocoConfig

    def __init__(self, settings: MocoConfig, parts: Parts) -> None:
        width, hidden, outputs = parts.shape.width, settings.hidden, settings.outputs
        super().__init__(settings, parts, BatchNormMLP(width, hidden, hidden, outputs, closing=True))
        self.predictor = BatchNormMLP(outputs, hidden, outputs, closing=True)

    def losses(self, views: Views) -> Losses:
        """Return the loss `moco`."""
        tau = self.settings.tau
        forth, back = (moco_loss(self.predictor(z_BK), slow_BK, tau) for z_BK, slow_BK in self.pairs(views))
        return {"moco": (1.0, forth + back)}


def moco_loss(query_BK: Tensor, key_BK: Tensor, tau: float) -> Tensor:
    """Return 2τ times InfoNCE of queries and keys (MoCo v3). Keys get no gradient."""
    return 2 * tau * info_nce(query_BK, key_BK.detach(), tau)


class DinoConfig(MomentumConfig):
    """Settings of DINO (arXiv:2104.14294): self-distillation from a slow network.

    This version is simple: there are two global views and no small crops, the teacher's temperature is
    constant, and prototypes are trained from the start.
    """

    captions = {"dino": "the slow network's assignment of the other view"}

    tau: float = chosen(0.1, "DINO: the student's temperature", gt=0)
    tau_slow: float = chosen(0.04, "DINO: the teacher's temperature at the start of its warm-up", gt=0)
    centring: float = chosen(0.9, "DINO: momentum of the centre", ge=0, lt=1)
    hidden: int = chosen(2048, "DINO: hidden width of the head", gt=0)
    outputs: int = chosen(256, "DINO: width of the bottleneck before the prototypes", gt=0)
    prototypes: int = chosen(4096, "DINO has 65536 for a thousand classes and 1.3 M images", gt=0)


class Dino(Momentum, of=DinoConfig):
    """Train the student to predict the teacher's distribution over prototypes for the other view."""

    settings: DinoConfig
    centre_K: Tensor

    def __init__(self, settings: DinoConfig, parts: Parts) -> None:
        super().__init__(settings, parts, _Head(parts.shape.width, settings))
        self.register_buffer("centre_K", torch.zeros(settings.prototypes))

    def losses(self, views: Views) -> Losses:
        """Return the loss `dino`, and update the centre: the moving average of the teacher's logits."""
        pairs, tau, tau_slow = self.pairs(views), self.settings.tau, self.settings.tau_slow
        terms = [dino_loss(z_BK, slow_BK - self.centre_K, tau, tau_slow) for z_BK, slow_BK in pairs]
        with torch.no_grad():
            slow = torch.cat([slow_BK for _, slow_BK in pairs])
            self.centre_K.lerp_(slow.mean(0), 1 - self.settings.centring)
        return {"dino": (1.0, (terms[0] + terms[1]) / 2)}


@in_float32
def dino_loss(student_BK: Tensor, teacher_BK: Tensor, tau: float, tau_slow: float) -> Tensor:
    """Return the cross-entropy of the student's logits and the teacher's centred logits.

    The teacher's logits get no gradient.
    """
    target_BK = (teacher_BK.detach() / tau_slow).softmax(-1)
    return -(target_BK * (student_BK / tau).log_softmax(-1)).sum(-1).mean()


class _Head(nn.Module):
    """MLP to a normalised bottleneck, and the cosine to each prototype."""

    def __init__(self, width: int, settings: DinoConfig) -> None:
        super().__init__()
        hidden, outputs = settings.hidden, settings.outputs
        self.bottleneck = nn.Sequential(
            nn.Linear(width, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, outputs),
        )
        self.apply(init_linear)
        self.prototypes = nn.Parameter(torch.empty(settings.prototypes, outputs))
        nn.init.trunc_normal_(self.prototypes, std=0.02)

    def forward(self, h_BD: Tensor) -> Tensor:
        """Return the logits over the prototypes, [B, K]."""
        return _cosines(self.bottleneck(h_BD), self.prototypes)


@in_float32
def _cosines(h_BD: Tensor, prototypes_KD: Tensor) -> Tensor:
    return linear(normalize(h_BD, dim=-1), normalize(prototypes_KD, dim=-1))
