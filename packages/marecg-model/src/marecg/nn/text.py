"""Modules of multi-prototype concept-text alignment (MPCT).

Each concept has several short texts, its text variants. A frozen sentence encoder has embedded them. Linear
maps project beats and texts to the concept space, where a loss compares them. Another linear map projects
records to the space of the sentence embeddings. There, a loss compares them with a prototype per concept, the
mean of the sentence embeddings of the concept's text variants.

Shapes: B batch, K beats, T patches, N concepts, V text variants (N · K_var), E text width (d_text),
D encoder width, W concept width (d_c).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from marecg.nn.attention import init_linear


class Aligned(NamedTuple):
    """Projected beats, texts and records, and the prototypes.

    Losses compare the beats with the texts, and the records with the prototypes.
    """

    beats_BKW: Tensor
    text_VW: Tensor
    record_BE: Tensor
    prototypes_NE: Tensor


class TextAlignment(nn.Module):
    """Linear maps of beats, texts and records to the two spaces in which losses compare them.

    Args:
        variants_NKE: float [N, K_var, d_text], an embedding per text variant of a concept.
        width: width D of the encoder.
        concept_width: d_c, the width of the concept space.
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
        """Project a batch. A concept's prototype is the mean of its text variants' sentence embeddings."""
        text_VW = self.text(self.variants.flatten(0, 1))
        return Aligned(self.beat(beats_BKD), text_VW, self.record(rhythm_BD), self.variants.mean(1))

    def active_variants(self, y_BN: Tensor) -> Tensor:
        """Return the mask of the text variants of each record's concepts, bool [B, V].

        Args:
            y_BN: True for the leaf concepts of each record.
        """
        return y_BN.bool().repeat_interleave(self.variants.shape[1], dim=1)


def pool_beats(
    h_BTD: Tensor, real_BT: Tensor, rpeaks_BK: Tensor, patch: int, stride: int, reach: int
) -> tuple[Tensor, Tensor]:
    """Return features of each beat: the mean over the patches near the beat's R-peak.

    Args:
        h_BTD: H̄, the encoder's output averaged over leads.
        real_BT: False for patches with padding, which belong to no beat.
        rpeaks_BK: sample indices of the R-peaks, padded with −1.
        patch: samples per patch.
        stride: samples from the start of a patch to the start of the next patch.
        reach: largest distance in samples from the R-peak to the centre of a patch.

    Returns:
        Features [B, K, D], and a mask [B, K] of the beats that have a patch.
    """
    centres_T = torch.arange(h_BTD.shape[1], device=h_BTD.device) * stride + patch // 2
    within_BKT = (centres_T - rpeaks_BK[..., None]).abs() <= reach
    within_BKT = within_BKT & (rpeaks_BK >= 0)[..., None] & real_BT[:, None]
    weight_BKT = within_BKT / within_BKT.sum(-1, keepdim=True).clamp(min=1)
    return weight_BKT.to(h_BTD.dtype) @ h_BTD, within_BKT.any(-1)
