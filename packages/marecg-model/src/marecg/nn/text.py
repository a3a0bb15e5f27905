"""Modules of multi-prototype concept-text alignment (MPCT, §subsec:auxiliary).

Concepts are described by frozen sentence embeddings of their text variants. Linear maps project records,
beats and texts to common spaces.

Shapes: B batch, K beats, T patches, N concepts, V text variants (N · K_var), E text width (d_text),
D encoder width, W concept width (d_c).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from marecg.nn.attention import init_linear


class Aligned(NamedTuple):
    """Embeddings that eq. mgca-loss compares: beats with texts, records with prototypes."""

    beats_BKW: Tensor
    text_VW: Tensor
    record_BE: Tensor
    prototypes_NE: Tensor


class TextAlignment(nn.Module):
    """Linear maps of beats, records and frozen sentence embeddings to common spaces.

    Args:
        variants_NKE: float [N, K_var, d_text], an embedding per text variant of a concept.
        width: D.
        concept_width: d_c.
    """

    variants: Tensor

    def __init__(self, variants_NKE: Tensor, width: int, concept_width: int) -> None:
        super().__init__()
        self.register_buffer("variants", variants_NKE, persistent=False)
        text_width = variants_NKE.shape[-1]
        self.text = nn.Linear(text_width, concept_width, bias=False)
        self.beat = nn.Linear(width, concept_width, bias=False)
        self.record = nn.Linear(width, text_width, bias=False)
        self.apply(init_linear)

    def forward(self, beats_BKD: Tensor, rhythm_BD: Tensor) -> Aligned:
        """Project a batch. A concept's prototype is the frozen mean of its text variants."""
        text_VW = self.text(self.variants.flatten(0, 1))
        return Aligned(self.beat(beats_BKD), text_VW, self.record(rhythm_BD), self.variants.mean(1))

    def active_variants(self, y_BN: Tensor) -> Tensor:
        """Return the mask of text variants of each record's active leaves, bool [B, V]."""
        return y_BN.bool().repeat_interleave(self.variants.shape[1], dim=1)


def pool_beats(
    h_BTD: Tensor, real_BT: Tensor, rpeaks_BK: Tensor, patch: int, stride: int, reach: int
) -> tuple[Tensor, Tensor]:
    """Average H̄ over patches whose centre is within `reach` samples of an R-peak.

    Args:
        h_BTD: H̄.
        real_BT: False for patches with padding, which belong to no beat.
        rpeaks_BK: sample indices, padded with −1.

    Returns:
        Features [B, K, D], and a mask [B, K] of the beats that have a patch.
    """
    centres_T = torch.arange(h_BTD.shape[1], device=h_BTD.device) * stride + patch // 2
    within_BKT = (centres_T - rpeaks_BK[..., None]).abs() <= reach
    within_BKT = within_BKT & (rpeaks_BK >= 0)[..., None] & real_BT[:, None]
    weight_BKT = within_BKT / within_BKT.sum(-1, keepdim=True).clamp(min=1)
    return weight_BKT.to(h_BTD.dtype) @ h_BTD, within_BKT.any(-1)
