"""CRT: reconstruction of dropped patches of signal and spectrum.

Zhang et al., Self-Supervised Time Series Representation Learning via Cross Reconstruction Transformer, IEEE
TNNLS 2023, arXiv:2205.09928. Signal and spectrum are reconstructed from visible patches.

Shapes: B batch, S patches of the window, T patches of the context, F patches of magnitude and F of phase,
N = T + 2F patches, K visible patches, C leads, P samples or bins per patch, L samples, D width, W width of
the decoder.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from ecg_records.signal.leads import LEADS
from marecg.model.config import ModelConfig
from marecg.model.flops import Flops, encoder_flops
from marecg.nn.attention import init_linear
from marecg.nn.heads import MLP, Predictor
from marecg.nn.precision import in_float32
from marecg.objectives.objective import Losses, NarrowConfig, Objective, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen

DOMAINS = 3
"""Number of domains: time, magnitude and phase."""


class CrtConfig(NarrowConfig):
    """Settings of CRT (arXiv:2205.09928).

    A patch is dropped in all leads, so the encoder doesn't read it at all. In training, the patches of the
    spectrum are further tokens. After training, the encoder reads only the signal, while CRT reads both.
    """

    captions = {
        "time": "error at the patches of time",
        "spectrum": "error at those of magnitude and phase",
        "discrimination": "how alike different records' h_rhythm are",
    }

    least: float = chosen(0.3, "CRT's code: least share of dropped patches, at the start", ge=0, lt=1)
    most: float = chosen(
        0.8, "CRT's code: largest share. In between, the share is the progress of the run", ge=0, lt=1
    )
    beta: float = chosen(1e-4, "CRT's code: weight of the instance discrimination", ge=0)
    outputs: int = chosen(128, "CRT's code: width of the projection for the discrimination", gt=0)

    def flops(self, shape: ModelConfig, window_patches: int) -> Flops:
        """Return the mean cost of visible patches and decoder, minus the cost of MAR-ECG's masked pass.

        The pass over visible patches replaces the masked pass.
        """
        every = shape.context_patches + 2 * spectral_patches(shape)
        visible = max(1, round((1 - self.mean_dropped) * every))
        narrow = shape.model_copy(update={"width": self.width, "depth": self.depth})
        return Flops(encoder_flops(shape, visible) - encoder_flops(shape) + encoder_flops(narrow, every), 0)

    def dropped(self, progress: float) -> float:
        """Return the share of dropped patches when the fraction `progress` of the training steps is done."""
        return min(max(progress, self.least), self.most)

    @property
    def mean_dropped(self) -> float:
        """Return the share of dropped patches, averaged over a run."""
        least, most = self.least, max(self.least, self.most)
        return least**2 + (most**2 - least**2) / 2 + most * (1 - most)


class Crt(Objective, of=CrtConfig):
    """Reconstruct all patches of signal, magnitude and phase from the visible patches."""

    reaches = frozenset({"pool"})
    settings: CrtConfig
    progress: Tensor

    def __init__(self, settings: CrtConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        shape, width = parts.shape, parts.shape.width
        self.shape = shape
        self.patches = spectral_patches(shape)
        every = shape.context_patches + 2 * self.patches
        self.project = nn.ModuleList(nn.Linear(shape.patch, width, bias=False) for _ in range(DOMAINS - 1))
        self.project.apply(init_linear)
        self.place = nn.Parameter(torch.empty(2 * self.patches, 1, width))
        self.lead = nn.Parameter(torch.empty(DOMAINS - 1, len(LEADS), width))
        self.absent = nn.Parameter(torch.empty(DOMAINS, width))
        for embedding in (self.place, self.lead, self.absent):
            nn.init.trunc_normal_(embedding, std=0.02)
        self.decoder = Predictor(
            len(LEADS),
            every,
            width,
            settings.width,
            settings.depth,
            settings.heads,
            shape.mlp_ratio,
            DOMAINS * shape.patch,
        )
        self.projector = MLP(width, width, settings.outputs)
        self.register_buffer("progress", torch.zeros(()))

    def losses(self, views: Views) -> Losses:
        """Return the losses `time` and `spectrum`, each with weight ½, and `discrimination` with weight β."""
        patches, model = self.shape.context_patches, views.model
        signal = views.signal
        x_BTCP, real_BT = signal.x_BSCP[:, :patches], signal.real_BS[:, :patches]
        wave_BCL = joined(x_BTCP, self.shape.stride)
        spectral = [cut(x_BCf, self.shape.patch) for x_BCf in spectrum(wave_BCL)]
        hidden_BTC, absent_B1C1 = signal.hidden_BSC[:, :patches], signal.absent_BC[:, None, :, None]
        tokens = [model.tokens(x_BTCP, hidden_BTC, signal.scale)]
        for domain, (project, x_BFCP) in enumerate(zip(self.project, spectral, strict=True)):
            place_F1D = self.place[domain * self.patches : (domain + 1) * self.patches]
            content_BFCD = project(x_BFCP)
            content_BFCD = torch.where(absent_B1C1, model.tokens.mask.to(content_BFCD.dtype), content_BFCD)
            tokens.append(content_BFCD + place_F1D + self.lead[domain])
        z_BNCD = torch.cat(tokens, 1)
        visible_BK, times = self.draw_visible(len(z_BNCD), views.generator)
        visible_BK = visible_BK.to(z_BNCD.device)
        h_BKCD = model.encoder(at_places(z_BNCD, visible_BK))
        rhythm_BD = model.pool(h_BKCD[:, :times], real_BT.gather(1, visible_BK[:, :times]))
        predicted_BNCP = self.decode(h_BKCD, visible_BK)
        time, magnitude, phase = torch.split(predicted_BNCP, [patches, self.patches, self.patches], 1)
        present_BFC = ~absent_B1C1[..., 0].expand(magnitude.shape[:3])
        of_bands = [_error(magnitude, spectral[0], present_BFC), _error(phase, spectral[1], present_BFC)]
        return {
            "time": (0.5, _error(time, x_BTCP, ~hidden_BTC)),
            "spectrum": (0.5, (of_bands[0] + of_bands[1]) / 2),
            "discrimination": (
                self.settings.beta,
                discrimination_loss(views.all_ranks(self.projector(rhythm_BD))),
            ),
        }

    def after_step(self, model: nn.Module, step: int, total_steps: int) -> None:
        """Store the progress of the run, on which the share of dropped patches depends."""
        self.progress.fill_(step / max(1, total_steps))

    def draw_visible(self, batch: int, generator: torch.Generator) -> tuple[Tensor, int]:
        """Draw the visible patches of each record.

        The magnitude and phase patches of the same frequencies are visible or dropped together.

        Returns:
            Positions of the visible patches [B, K] in ascending order, and how many of them are in the domain
            of time.
        """
        share = self.settings.dropped(float(self.progress))
        time, bands = self.shape.context_patches, self.patches
        time_BK = _drawn(batch, time, share, generator)
        band_BK = _drawn(batch, bands, share, generator)
        return torch.cat([time_BK, time + band_BK, time + bands + band_BK], 1), time_BK.shape[1]

    def decode(self, h_BKCD: Tensor, visible_BK: Tensor) -> Tensor:
        """Decode all patches, [B, N, C, P]. Each domain has its own linear map at the end."""
        sizes = torch.tensor([self.shape.context_patches, self.patches, self.patches])
        absent_ND = self.absent.repeat_interleave(sizes.to(self.absent.device), 0)
        every_BNCD = absent_ND[None, :, None].expand(len(h_BKCD), -1, h_BKCD.shape[2], -1)
        index_BKCD = visible_BK[..., None, None].expand_as(h_BKCD)
        decoded_BNCp = self.decoder(every_BNCD.to(h_BKCD.dtype).scatter(1, index_BKCD, h_BKCD))
        by_domain = decoded_BNCp.unflatten(-1, (DOMAINS, self.shape.patch)).split(sizes.tolist(), 1)
        return torch.cat([part[..., domain, :] for domain, part in enumerate(by_domain)], 1)


def spectral_patches(shape: ModelConfig) -> int:
    """Return F, the number of patches for the bins of a context's spectrum."""
    bins = shape.context_patches * shape.stride // 2 + 1
    return -(-bins // shape.patch)


def joined(x_BTCP: Tensor, stride: int) -> Tensor:
    """Join overlapping patches to a signal [B, C, L]. Of each patch, the first stride is used."""
    return x_BTCP[..., :stride].transpose(1, 2).flatten(2)


def spectrum(wave_BCL: Tensor) -> tuple[Tensor, Tensor]:
    """Return log(1 + |X|) of the orthonormal Fourier transform X, and its phase / π, [B, C, L/2 + 1]."""
    spectrum_BCF = torch.fft.rfft(wave_BCL.float(), norm="ortho")
    return spectrum_BCF.abs().log1p(), spectrum_BCF.angle() / torch.pi


def cut(x_BCf: Tensor, patch: int) -> Tensor:
    """Cut spectral bins into patches [B, F, C, P]. The last patch is padded with zeros."""
    missing = -x_BCf.shape[-1] % patch
    filled_BCf = pad(x_BCf, (0, missing))
    return filled_BCf.reshape(*filled_BCf.shape[:2], -1, patch).transpose(1, 2)


@in_float32
def discrimination_loss(z_BK: Tensor) -> Tensor:
    """Return the log of the mean of exp(cosine) between records. It is least for uniform directions."""
    if len(z_BK) < 2:  # no other record to compare
        return z_BK.sum() * 0
    z_BK = normalize(z_BK, dim=-1)
    itself = torch.eye(len(z_BK), dtype=torch.bool, device=z_BK.device)
    cosines = (z_BK @ z_BK.T).masked_fill(itself, -torch.inf)
    return cosines.flatten().logsumexp(0) - torch.tensor(float(len(z_BK) * (len(z_BK) - 1))).log()


def _error(predicted_BNCP: Tensor, x_BNCP: Tensor, counted_BNC: Tensor) -> Tensor:
    """Return the mean squared error over the patches that are marked in `counted_BNC`."""
    error_BNC = (predicted_BNCP - x_BNCP).square().mean(-1)
    return (error_BNC * counted_BNC).sum() / counted_BNC.sum().clamp(min=1)


def _drawn(batch: int, patches: int, dropped: float, generator: torch.Generator) -> Tensor:
    """Draw at least one visible patch per record, and return positions in ascending order, int64 [B, K]."""
    visible = max(1, patches - round(dropped * patches))
    draw_BN = torch.rand(batch, patches, generator=generator, device=generator.device)
    return draw_BN.argsort(1)[:, :visible].sort(1).values


def at_places(z_BNCD: Tensor, visible_BK: Tensor) -> Tensor:
    """Return the tokens at the positions of visible patches, [B, K, C, D]."""
    return z_BNCD.gather(1, visible_BK[..., None, None].expand(-1, -1, *z_BNCD.shape[2:]))
