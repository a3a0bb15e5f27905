"""TS-TCC: Eldele et al., Time-Series Representation Learning via Temporal and Contextual Contrasting, 2021.

Shapes: B batch, T patches, C leads, D width, K projection width, H horizons, N records that a record is
contrasted with.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.attention import init_linear
from marecg.nn.heads import MLP
from marecg.nn.pooling import lead_mean
from marecg.nn.precision import in_float32
from marecg.objectives.contrast import nt_xent
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen


class TstccConfig(ObjectiveConfig):
    """Settings of TS-TCC (arXiv:2106.14112).

    The weak augmentation is `rhythm-safe` instead of jitter and scaling. The strong augmentation is
    `unconstrained` instead of permutation and jitter. MAR-ECG's encoder is bidirectional. So the past is
    encoded separately, and the future isn't visible. The context is the pooled past, instead of the output of
    another network.
    """

    captions = {
        "temporal": "the other view's future from this one's past",
        "contextual": "contrast of the two views' contexts",
    }

    lambda_temporal: float = chosen(1.0, "TS-TCC: λ_1", ge=0)
    lambda_contextual: float = chosen(0.7, "TS-TCC: λ_2", ge=0)
    tau: float = chosen(0.2, "TS-TCC: temperature of the contextual contrast", gt=0)
    reach: float = chosen(0.4, "TS-TCC: the best share of the context to predict", gt=0, lt=1)
    outputs: int = chosen(128, "width of the projection in the contextual contrast", gt=0)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost of the passes over the second view, and over the pasts of both views on average."""
        past = max(1, round((1 - self.reach) * shape.context_patches / 2))
        return Flops(encoder_flops(shape) + 2 * encoder_flops(shape, past), 0)


class Tstcc(Objective, of=TstccConfig):
    """Contrast the past of each view with the future of the other view, and contrast both contexts."""

    reaches = frozenset({"pool"})
    settings: TstccConfig

    def __init__(self, settings: TstccConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        width, patches = parts.shape.width, parts.shape.context_patches
        self.horizons = max(1, int(settings.reach * patches))
        self.predictors = nn.ModuleList(nn.Linear(width, width) for _ in range(self.horizons))
        self.predictors.apply(init_linear)
        self.projector = MLP(width, width, settings.outputs)

    def losses(self, views: Views) -> Losses:
        """Return the losses `temporal` (L_s + L_w) and `contextual`, with their weights λ_1 and λ_2.

        The time between past and future is drawn once for the whole batch.
        """
        settings = self.settings
        weak, strong = views.clean("rhythm-safe"), views.clean("unconstrained")
        latest = weak.h_BTCD.shape[1] - self.horizons
        draw = torch.rand((), generator=views.generator, device=views.generator.device)
        now = 1 + int(draw * (latest - 1))
        contexts = [view.pooled(view.part(0, now), view.real_BT[:, :now]) for view in (weak, strong)]
        futures = [lead_mean(view.h_BTCD)[:, now : now + self.horizons] for view in (strong, weak)]
        temporal = []
        for context_BD, future_BHD in zip(contexts, futures, strict=True):
            predicted_BHD = torch.stack([predict(context_BD) for predict in self.predictors], 1)
            temporal.append(temporal_loss(_gathered(views, predicted_BHD), _gathered(views, future_BHD)))
        first_BK, second_BK = (views.all_ranks(self.projector(context_BD)) for context_BD in contexts)
        return {
            "temporal": (settings.lambda_temporal, temporal[0] + temporal[1]),
            "contextual": (settings.lambda_contextual, nt_xent(first_BK, second_BK, settings.tau)),
        }


@in_float32
def temporal_loss(predicted_BHD: Tensor, future_BHD: Tensor) -> Tensor:
    """Return InfoNCE between predictions and futures, averaged over horizons.

    Args:
        predicted_BHD: predicted future of each record.
        future_BHD: future z_{t+k} of each record in the other view.
    """
    logits_HBB = torch.einsum("bhd,nhd->hbn", predicted_BHD, future_BHD)
    own_HB = torch.arange(len(predicted_BHD), device=logits_HBB.device).expand(logits_HBB.shape[:2])
    return cross_entropy(logits_HBB.flatten(0, 1), own_HB.flatten())


def _gathered(views: Views, z_BHD: Tensor) -> Tensor:
    """Gather the rows of all ranks. `all_ranks` needs a matrix."""
    return views.all_ranks(z_BHD.flatten(1)).view(-1, *z_BHD.shape[1:])
