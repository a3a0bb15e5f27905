"""The network that is trained: the model with its heads, and one forward pass to every named loss.

This is the paper's step, from signal to losses. How it is optimised is in `marecg.train.lightning_module`.

Shapes: B batch, C leads, L samples, T context patches, S patches of the record window, P samples per patch,
D width, K concept width (d_c), N concepts.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from marecg.config import LEADS, Config
from marecg.corpus.batches import Batch
from marecg.ecg.augment import AUGMENTATIONS
from marecg.errors import ConfigError
from marecg.model.mar_ecg import MarEcg
from marecg.nn.concepts import concept_logits
from marecg.nn.decoder import Decoder
from marecg.nn.dropout import dropout
from marecg.nn.ema import Ema
from marecg.nn.heads import MLP, Predictor
from marecg.nn.masking import random_mask
from marecg.nn.pooling import lead_mean
from marecg.nn.prototypes import PrototypeHead
from marecg.nn.text import TextAlignment, pool_beats
from marecg.nn.tokens import full_patches, patchify
from marecg.objectives.ar import ar_losses
from marecg.objectives.gscl import gscl_loss
from marecg.objectives.jepa import jepa_loss
from marecg.objectives.mpct import beat_concept_loss, instance_concept_loss, ontology_prototype_loss
from marecg.objectives.msps import (
    PHASES,
    RHYTHM_OUTPUTS,
    RhythmTarget,
    patch_position_losses,
    patch_rhythm_losses,
)
from marecg.objectives.view import nt_xent


class Signal(NamedTuple):
    """A batch cut into patches: normalised x [B, S, C, P], and bool [B, S] where a patch holds no padding."""

    x_BSCP: Tensor
    real_BS: Tensor


class Outcome(NamedTuple):
    """Every loss of the recipe by name, unweighted, and what the monitors look at.

    `logits_BN` are those of q, None where the recipe has no GSCL.
    """

    named: dict[str, Tensor]
    h_BTCD: Tensor
    rhythm_BD: Tensor
    logits_BN: Tensor | None


class Network(nn.Module):
    """The model and what trains it.

    Args:
        config: the recipe; a head exists only where its objective does.
        a_hat_NN: Â of the ontology, float [N, N].
        variants_NVE: sentence embeddings of the concepts' textual variants; only MPCT needs them.
    """

    def __init__(self, config: Config, a_hat_NN: Tensor, variants_NVE: Tensor | None = None) -> None:
        super().__init__()
        self.config = config
        shape = config.model
        if len(a_hat_NN) != shape.concepts:
            raise ConfigError(
                f"model.concepts is {shape.concepts}, the ontology has {len(a_hat_NN)} concepts"
            )
        leads, width = len(LEADS), shape.width
        self.model = MarEcg(shape)
        ar = config.ar
        self.decoder = Decoder(
            leads,
            shape.positions,
            shape.patch,
            shape.stride,
            width,
            ar.width,
            ar.depth,
            ar.heads,
            shape.mlp_ratio,
        )
        if config.jepa:
            jepa = config.jepa
            self.ema = Ema(self.slow_part())
            self.predictor = Predictor(
                leads, shape.positions, width, jepa.width, jepa.depth, jepa.heads, shape.mlp_ratio
            )
        if config.view:
            self.view_head = MLP(width, width, config.view.width)
        if config.gscl:
            self.prototypes = PrototypeHead(
                a_hat_NN, config.gscl.node_width, shape.concept_width, config.gscl.dropout
            )
        if config.msps:
            self.rhythm_head = MLP(width, config.msps.hidden, RHYTHM_OUTPUTS)
            self.position_head = MLP(width, config.msps.hidden, config.msps.buckets + PHASES)
        if config.mpct:
            assert variants_NVE is not None, "MPCT compares records with text"
            self.text = TextAlignment(variants_NVE, width, shape.concept_width)
        # What no loss of the recipe reaches takes no gradient, so that DDP waits for none.
        self.model.pool.requires_grad_(bool(config.view or config.gscl or config.mpct))
        self.model.to_concepts.requires_grad_(bool(config.gscl or config.mpct))

    def forward(
        self, batch: Batch, generator: torch.Generator, all_ranks: Callable[[Tensor], Tensor]
    ) -> Outcome:
        """One masked pass, and what the recipe asks of it.

        Args:
            batch: signals and their supervision.
            generator: every draw of this micro-batch; on the batch's device, or each draw is copied there.
            all_ranks: gathers [B, K] over the ranks with gradients, so that all have the same negatives.
        """
        config, model, supervision = self.config, self.model, batch.supervision
        x_BCL = batch.x_BCL
        signal = self._patches(x_BCL, batch.n_valid_B)
        x_BSCP, real_BS = signal
        context = config.model.context_patches
        real_BT = real_BS[:, :context]
        masked_BTC = random_mask(len(x_BSCP), context, len(LEADS), config.ar.mask_ratio, generator)
        masked_BTC = masked_BTC.to(x_BSCP.device)

        h_BTCD = self._encode(signal, masked_BTC, generator)
        named = ar_losses(self.decoder(h_BTCD, x_BSCP), x_BSCP, masked_BTC, real_BS)

        if config.jepa:
            named["jepa"] = jepa_loss(self.predictor(h_BTCD), self._ema_tokens(signal), masked_BTC)

        rhythm_BD = model.pool(h_BTCD, real_BT)
        if config.view:
            augmented_BCL = AUGMENTATIONS[config.view.augmentation](x_BCL, config.model.fs, generator)
            second = self._patches(augmented_BCL, batch.n_valid_B)
            second_BD = model.pool(self._encode(second, torch.zeros_like(masked_BTC), generator), real_BT)
            views = (all_ranks(self.view_head(rhythm_BD)), all_ranks(self.view_head(second_BD)))
            named["view"] = nt_xent(*views, config.view.tau)

        concept_BK = model.to_concepts(rhythm_BD)
        logits_BN = None
        if config.gscl:
            logits_BN = concept_logits(concept_BK, self.prototypes(generator), config.model.tau)
            named["gscl"] = gscl_loss(logits_BN, supervision.target_BN)

        h_bar_BTD = lead_mean(h_BTCD)
        if config.msps:
            rhythm = RhythmTarget(
                supervision.alternates_B,
                supervision.rate_B,
                supervision.mean_rr_B,
                supervision.rr_cv_B,
                supervision.known_B,
            )
            named |= patch_rhythm_losses(self.rhythm_head(h_bar_BTD), rhythm)
            named |= patch_position_losses(self.position_head(h_bar_BTD), supervision.phase_BT)

        if config.mpct:
            named |= self._mpct_losses(concept_BK, rhythm_BD, h_bar_BTD, batch)
        return Outcome(named, h_BTCD, rhythm_BD, logits_BN)

    def _mpct_losses(
        self, concept_BK: Tensor, rhythm_BD: Tensor, h_bar_BTD: Tensor, batch: Batch
    ) -> dict[str, Tensor]:
        assert self.config.mpct is not None
        mpct, shape, supervision = self.config.mpct, self.config.model, batch.supervision
        beats_BKD, real_BK = pool_beats(
            h_bar_BTD, supervision.rpeaks_BK, shape.patch, shape.stride, mpct.beat_reach
        )
        to = self.text(beats_BKD, rhythm_BD)
        active_BV = self.text.active_variants(supervision.y_BN)
        return {
            "ica": instance_concept_loss(concept_BK, to.text_VW, active_BV, mpct.tau),
            "bca": beat_concept_loss(to.beats_BKW, real_BK, to.text_VW, active_BV, mpct.tau),
            "opa": ontology_prototype_loss(to.record_BE, to.prototypes_NE, supervision.y_BN, mpct.tau),
        }

    def _patches(self, x_BCL: Tensor, n_valid_B: Tensor) -> Signal:
        """RevIN, then patches of the whole record window."""
        shape = self.config.model
        normalised_BCL, _ = self.model.revin(x_BCL, n_valid_B)
        x_BSCP = patchify(normalised_BCL, shape.patch, shape.stride)
        return Signal(x_BSCP, full_patches(n_valid_B, x_BSCP.shape[1], shape.patch, shape.stride))

    def _encode(self, signal: Signal, masked_BTC: Tensor, generator: torch.Generator) -> Tensor:
        """H of the context, with masked pairs, padding and, by the regulariser, whole leads hidden."""
        regulariser = self.config.regulariser
        x_BTCP = signal.x_BSCP[:, : masked_BTC.shape[1]]
        hidden_BTC = masked_BTC | ~signal.real_BS[:, : masked_BTC.shape[1], None]
        if regulariser:
            lead_shape = (len(x_BTCP), 1, x_BTCP.shape[2])
            draw_B1C = torch.rand(lead_shape, generator=generator, device=generator.device)
            hidden_BTC = hidden_BTC | (draw_B1C < regulariser.p_lead).to(hidden_BTC.device)
        h_BTCD = self.model.encoder(self.model.tokens(x_BTCP, hidden_BTC))
        return dropout(h_BTCD, regulariser.p_drop, generator) if regulariser else h_BTCD

    @torch.no_grad()
    def _ema_tokens(self, signal: Signal) -> Tensor:
        """The EMA encoder's H of the unmasked context."""
        slow = self.ema.module
        assert isinstance(slow, nn.ModuleList)
        context = self.config.model.context_patches
        x_BTCP = signal.x_BSCP[:, :context]
        padding_BTC = ~signal.real_BS[:, :context, None].expand(x_BTCP.shape[:3])
        return slow[1](slow[0](x_BTCP, padding_BTC))  # type: ignore[no-any-return]

    def slow_part(self) -> nn.ModuleList:
        """What the EMA follows, freshly wrapped: the parameters stay those of the model."""
        return nn.ModuleList([self.model.tokens, self.model.encoder])

    def compile_encoders(self, mode: str = "default") -> None:
        """Have torch compile the encoder and, with JEPA, the slow one beside it, in this mode of it."""
        self.model.encoder.compile(mode=mode)
        if self.config.jepa:
            slow = self.ema.module
            assert isinstance(slow, nn.ModuleList)
            slow[1].compile(mode=mode)

    def export(self) -> MarEcg:
        """The model with the prototypes as they stand, in eval mode; the heads stay behind."""
        if self.config.gscl:
            with torch.no_grad():
                self.model.prototypes.copy_(self.prototypes())
        return self.model.eval()
