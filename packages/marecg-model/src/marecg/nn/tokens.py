"""Tokens, the input of the encoder, from the samples of a record (eq. patch-token and eq. encoder-input).

Shapes: B batch, C leads, L samples, T patches, P samples per patch, D width.
"""

import torch
from torch import Tensor, nn

from marecg.nn.amplitude import Amplitude
from marecg.nn.attention import init_linear
from marecg.nn.revin import Scale


def patchify(x_BCL: Tensor, patch: int, stride: int) -> Tensor:
    """Return the overlapping patches of all leads, x_BTCP, as a view without a copy."""
    return x_BCL.unfold(-1, patch, stride).transpose(1, 2)


def silent_leads(x_BCL: Tensor, absent_BC: Tensor | None = None) -> Tensor:
    """Return the mask of absent leads, bool [B, C]: leads marked in `absent_BC`, and leads of zeros only."""
    silent_BC = (x_BCL == 0).all(-1)
    return silent_BC if absent_BC is None else absent_BC | silent_BC


def full_patches(n_valid_B: Tensor, patches: int, patch: int, stride: int) -> Tensor:
    """Return the mask of patches without padding, bool [B, T]: patches that end by sample `n_valid_B`."""
    ends_T = torch.arange(patches, device=n_valid_B.device) * stride + patch
    return ends_T <= n_valid_B[:, None]


class Tokens(nn.Module):
    """Token embedding z_ci = W_p x_ci + e_c^lead + e_i^pos of patch i of lead c (eq. patch-token).

    W_p x_ci is a linear map of the patch's samples. For a masked (lead, patch) pair, a learned vector m
    replaces this content. The embeddings of lead and position stay. Without them, all masked tokens of a
    record would be equal, and attention couldn't distinguish their positions. If `amplitude` is True, the
    tokens of a lead also contain the lead's scale; see `marecg.nn.amplitude`.
    """

    def __init__(
        self, leads: int, positions: int, patch: int, width: int, *, amplitude: bool = False
    ) -> None:
        super().__init__()
        self.project = nn.Linear(patch, width, bias=False)
        init_linear(self.project)
        self.lead = nn.Parameter(torch.empty(leads, width))
        self.position = nn.Parameter(torch.empty(positions, width))
        self.mask = nn.Parameter(torch.empty(width))
        for embedding in (self.lead, self.position, self.mask):
            nn.init.trunc_normal_(embedding, std=0.02)
        self.amplitude = Amplitude(width) if amplitude else None

    def forward(self, x_BTCP: Tensor, hidden_BTC: Tensor | None = None, scale: Scale | None = None) -> Tensor:
        """Return the tokens. `hidden_BTC` marks masked or padded pairs, and `scale` is RevIN's scale."""
        content_BTCD = self.project(x_BTCP)
        if hidden_BTC is not None:
            content_BTCD = torch.where(hidden_BTC[..., None], self.mask.to(content_BTCD.dtype), content_BTCD)
        z_BTCD = content_BTCD + (self.position[: x_BTCP.shape[1], None] + self.lead)
        if self.amplitude is not None:
            assert scale is not None, "tokens with amplitude need RevIN's scale"
            z_BTCD = z_BTCD + self.amplitude(scale, hidden_BTC)[:, None]
        return z_BTCD  # type: ignore[no-any-return]
