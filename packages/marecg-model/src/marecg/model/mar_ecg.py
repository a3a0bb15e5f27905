"""MarEcg: tokens → encoder → H, H̄, h_rhythm and the concepts it is nearest to.

Shapes: B batch, C leads, L samples, T patches, D width, N concepts, K concept width (d_c).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ecg_ontology import Ontology
from marecg.config import LEADS, ModelConfig
from marecg.errors import UsageError
from marecg.model.pretrained import Pretrained
from marecg.nn.attention import init_linear
from marecg.nn.concepts import concept_logits
from marecg.nn.encoder import Encoder
from marecg.nn.pooling import RhythmPool, lead_mean
from marecg.nn.revin import RevIN
from marecg.nn.tokens import Tokens, full_patches, patchify


class Features(NamedTuple):
    """What the encoder says of a batch: h_rhythm [B, D] and H̄ [B, T, D]."""

    rhythm_BD: Tensor
    patch_BTD: Tensor


class MarEcg(Pretrained):
    """The encoder with its pools and its place in the concept space (§Methods).

    Args:
        config: the shape of everything; `marecg.recipes.c3().model` is the paper's.
        ontology: whose enumeration the prototypes follow; the packaged one if None.
    """

    def __init__(self, config: ModelConfig, ontology: Ontology | None = None) -> None:
        super().__init__(config, ontology)
        self.revin = RevIN(config.context, config.revin_eps)
        self.tokens = Tokens(len(LEADS), config.positions, config.patch, config.width)
        self.encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
        self.pool = RhythmPool(config.width, config.queries, config.eta)
        self.to_concepts = nn.Linear(config.width, config.concept_width, bias=False)
        init_linear(self.to_concepts)
        self.register_buffer("prototypes", torch.zeros(config.concepts, config.concept_width))

    def forward(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor | None = None) -> Features:
        """Encode records in mV, nothing masked but padding and the leads that `absent_BC` (bool) names.

        L may be anything from one patch up to `config.positions` patches.
        """
        h_BTCD, real_BT = self._encode(x_BCL, n_valid_B, absent_BC)
        return Features(self.pool(h_BTCD, real_BT), lead_mean(h_BTCD))

    def attention(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor | None = None) -> Tensor:
        """How much h_rhythm's pool reads of each token, the mean over its queries, [B, T, C]; 1 in all."""
        return self.pool.weights(*self._encode(x_BCL, n_valid_B, absent_BC)).mean(-1)

    def _encode(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor | None) -> tuple[Tensor, Tensor]:
        """H [B, T, C, D], and which patches hold no padding [B, T]."""
        config = self.config
        x_BCL, _ = self.revin(x_BCL, n_valid_B)
        x_BTCP = patchify(x_BCL, config.patch, config.stride)
        real_BT = full_patches(n_valid_B, x_BTCP.shape[1], config.patch, config.stride)
        hidden_BTC = ~real_BT[..., None].expand(x_BTCP.shape[:3])
        if absent_BC is not None:
            hidden_BTC = hidden_BTC | absent_BC[:, None]
        return self.encoder(self.tokens(x_BTCP, hidden_BTC)), real_BT

    def concept_logits(self, rhythm_BD: Tensor) -> Tensor:
        """The logits of q over the N concepts (eq. gscl-pred), [B, N].

        Raises:
            UsageError: the model was trained without GSCL, so its prototypes say nothing.
        """
        if not self.prototypes.any():
            raise UsageError(
                "the model was trained without GSCL and knows no concepts",
                remedy="Use a model of recipe c1-gscl, c2, c3 or tiny",
            )
        return concept_logits(self.to_concepts(rhythm_BD), self.prototypes, self.config.tau)
