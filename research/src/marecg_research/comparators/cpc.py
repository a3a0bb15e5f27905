"""CPC: van den Oord, Li & Vinyals, Representation Learning with Contrastive Predictive Coding, 2018.

Shapes: B batch, T patches, C leads, D width, H horizons, N latents of the whole batch.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.attention import init_linear
from marecg.nn.pooling import lead_mean
from marecg.nn.precision import in_float32
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen


class CpcConfig(ObjectiveConfig):
    """Settings of CPC (arXiv:1807.03748), which predicts a record's next latents.

    MAR-ECG's encoder is bidirectional. So past and later patches are encoded separately. The context is the
    pooled vector of the past (h_rhythm), instead of a recurrent network's state. A latent is the vector of a
    single later patch, averaged over leads (H̄), instead of a convolution's output. The past and each patch
    are scaled separately.
    """

    captions = {"cpc": "a record's next patches among all of the batch, told from its past"}

    steps: int = chosen(12, "CPC's on speech, and Mehari & Strodthoff's on ECGs (arXiv:2103.12676)", gt=0)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the cost that CPC adds to MAR-ECG's usual pass over the masked record.

        The past and the patches, which replace this pass, cost about as much. The added cost is a pass over
        the whole record without gradients.
        """
        return Flops(0, encoder_flops(shape))


class Cpc(Objective, of=CpcConfig):
    """Contrast predicted latents with true latents. Each horizon has a linear map from the context."""

    reaches = frozenset({"pool"})
    settings: CpcConfig

    def __init__(self, settings: CpcConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        shape = parts.shape
        self.ahead = -(-shape.patch // shape.stride)  # patches with this distance have no common samples
        self.horizons = max(1, min(settings.steps, shape.context_patches - self.ahead))
        self.predictors = nn.ModuleList(
            nn.Linear(shape.width, shape.width, bias=False) for _ in range(self.horizons)
        )
        self.predictors.apply(init_linear)

    def losses(self, views: Views) -> Losses:
        """Return the loss `cpc`. The end of the past is drawn once for the whole batch."""
        view = views.clean()
        moments = view.h_BTCD.shape[1] - self.ahead - self.horizons + 1
        draw = torch.rand((), generator=views.generator, device=views.generator.device)
        now = 1 + int(draw * moments)
        context_BD = view.pooled(view.part(0, now), view.real_BT[:, :now])
        first = now - 1 + self.ahead
        future = range(first, first + self.horizons)
        predicted_BHD = torch.stack([predict(context_BD) for predict in self.predictors], 1)
        latent_BHD = torch.cat([lead_mean(view.part(patch, patch + 1)) for patch in future], 1)
        real_BH = view.real_BT[:, first : first + self.horizons]
        every = [views.all_ranks(part.flatten(1)) for part in (predicted_BHD, latent_BHD)]
        real_BH = views.all_ranks(real_BH.to(every[0].dtype)) > 0
        predicted_BHD, latent_BHD = (part.view(len(part), self.horizons, -1) for part in every)
        return {"cpc": (1.0, cpc_loss(predicted_BHD, latent_BHD, real_BH))}


@in_float32
def cpc_loss(predicted_BHD: Tensor, latent_BHD: Tensor, real_BH: Tensor) -> Tensor:
    """Return InfoNCE between predictions and latents (eq. 4).

    The negatives of a prediction are all other latents of the batch. Latents of padding are left out. If all
    latents are padding, the loss is zero.
    """
    predicted_ND, latent_ND = predicted_BHD[real_BH], latent_BHD[real_BH]
    logits_NN = predicted_ND @ latent_ND.T
    itself_N = torch.arange(len(logits_NN), device=logits_NN.device)
    return cross_entropy(logits_NN, itself_N, reduction="sum") / max(1, len(logits_NN))
