"""Encoder of single windows: tokens → encoder → H, H̄, h_rhythm and the concept logits.

Shapes: B batch, C leads, L samples, T patches, P samples per patch, D width, M bands of the modulation
spectrum, J patches of a beat, N concepts, K concept width (d_c).
"""

import torch
from torch import Tensor, nn

from ecg_ontology import Ontology
from ecg_records.signal.leads import LEADS
from marecg.errors import UsageError
from marecg.model.config import ModelConfig
from marecg.model.pretrained import Pretrained
from marecg.model.readout import Features, beat_blocks, part_blocks, wide_blocks
from marecg.nn.attention import init_linear
from marecg.nn.concepts import concept_logits
from marecg.nn.encoder import Encoder
from marecg.nn.modulation import modulation_spectrum
from marecg.nn.pooling import RhythmPool, lead_mean
from marecg.nn.revin import RevIN, Scale
from marecg.nn.tokens import Tokens, full_patches, patchify, silent_leads


class WindowEncoder(Pretrained):
    """Encoder of single windows, with its pools and its map to the concept space (§Methods)."""

    def __init__(self, config: ModelConfig, ontology: Ontology | None = None) -> None:
        super().__init__(config, ontology)
        self.revin = RevIN(config.context, config.revin_eps)
        self.tokens = Tokens(
            len(LEADS), config.positions, config.patch, config.width, amplitude=config.amplitude
        )
        self.encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
        self.pool = RhythmPool(config.width, config.queries, config.eta)
        self.to_concepts = nn.Linear(config.width, config.concept_width, bias=False)
        init_linear(self.to_concepts)
        self.register_buffer("prototypes", torch.zeros(len(self.ontology), config.concept_width))

    def of_windows(
        self,
        x_BCL: Tensor,
        n_valid_B: Tensor,
        absent_BC: Tensor | None = None,
        beats_BJT: Tensor | None = None,
        *,
        every_part: bool = False,
    ) -> Features:
        """Encode single windows in mV; only padding and absent leads are masked.

        Args:
            x_BCL: signals in mV. L is from one patch to `config.positions` patches.
            n_valid_B: samples of each window before its padding.
            absent_BC: bool, leads to hide. Leads that are zero throughout are always hidden.
            beats_BJT: number of beats whose j-th patch is patch t.
            every_part: also return the blocks of P, ST and T, and the heights of all parts.

        Returns:
            H̄ and the blocks of the wide readout. With `beats_BJT`, also the blocks of the beat readout.
        """
        absent_BC = silent_leads(x_BCL, absent_BC)
        h_BTCD, real_BT, scale = self._encode(x_BCL, n_valid_B, absent_BC)
        rhythm_BD = self.pool(h_BTCD, real_BT)
        log_std_BC = scale.std_BC1[..., 0].log()
        blocks = wide_blocks(rhythm_BD, h_BTCD, log_std_BC, real_BT, absent_BC)
        if self.config.modulation:
            blocks["modulation"] = self._modulation(x_BCL, n_valid_B, absent_BC)
        if beats_BJT is not None:
            blocks |= beat_blocks(h_BTCD, beats_BJT)
            if every_part:
                mv_BTCP = patchify(x_BCL - scale.mean_BC1, self.config.patch, self.config.stride)
                blocks |= part_blocks(h_BTCD, mv_BTCP, beats_BJT)
        return Features.of(lead_mean(h_BTCD), blocks)

    def attention(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor | None = None) -> Tensor:
        """Return each token's weight in h_rhythm's pool, averaged over queries, [B, T, C].

        The weights of a record sum to 1.

        Args:
            x_BCL: as for `of_windows`.
            n_valid_B: as for `of_windows`.
            absent_BC: as for `of_windows`.
        """
        h_BTCD, real_BT, _ = self._encode(x_BCL, n_valid_B, silent_leads(x_BCL, absent_BC))
        return self.pool.weights(h_BTCD, real_BT).mean(-1)

    def _encode(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> tuple[Tensor, Tensor, Scale]:
        """Return H [B, T, C, D], the mask of patches without padding [B, T], and RevIN's scale."""
        config = self.config
        x_BCL, scale = self.revin(x_BCL, n_valid_B)
        x_BTCP = patchify(x_BCL, config.patch, config.stride)
        real_BT = full_patches(n_valid_B, x_BTCP.shape[1], config.patch, config.stride)
        hidden_BTC = ~real_BT[..., None] | absent_BC[:, None]
        return self.encoder(self.tokens(x_BTCP, hidden_BTC, scale)), real_BT, scale

    def _modulation(self, x_BCL: Tensor, n_valid_B: Tensor, absent_BC: Tensor) -> Tensor:
        """Return the modulation spectrum of the present leads, [B, M]."""
        given_BCL = x_BCL.masked_fill(absent_BC[..., None], 0.0)
        return modulation_spectrum(given_BCL, n_valid_B, self.config.fs)

    def concept_logits(self, rhythm_BD: Tensor) -> Tensor:
        """Return the logits of q over the N concepts (eq. gscl-pred), [B, N].

        Args:
            rhythm_BD: h_rhythm of B records.

        Raises:
            UsageError: If the model was trained without GSCL or without codes, so it knows no concepts.
        """
        if not self.prototypes.any():
            raise UsageError(
                "the model was trained without GSCL and knows no concepts",
                remedy="Use a model whose concept prototypes were trained",
            )
        if self.provenance and self.provenance.support and not any(self.provenance.support.values()):
            raise UsageError(
                "no record that the model was trained on had a concept, so it knows none",
                remedy="Use a model that was trained on records with codes",
            )
        return concept_logits(self.to_concepts(rhythm_BD), self.prototypes, self.config.tau)
