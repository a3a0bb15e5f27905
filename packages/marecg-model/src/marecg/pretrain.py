"""One step of pretraining, as the paper has it: forward, named losses, their weighted sum (eq. total-loss).

Shapes: B batch, C leads, L samples, T context patches, S patches of the record window, P samples per patch,
D width, N concepts.
"""

import logging
from typing import Any, NamedTuple

import lightning
import numpy as np
import torch
from torch import Tensor, nn

from marecg.config import LEADS, Config
from marecg.data.augment import AUGMENTATIONS
from marecg.data.loader import Batch
from marecg.errors import ConfigError
from marecg.model import MarEcg
from marecg.nn.concepts import concept_logits
from marecg.nn.decoder import Decoder
from marecg.nn.dropout import dropout
from marecg.nn.ema import Ema, momentum_at
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
from marecg.objectives.total import total_loss
from marecg.objectives.view import nt_xent
from marecg.schedule import lr_factor, parameter_groups

logger = logging.getLogger(__name__)

NON_FINITE_IN_A_ROW = 10
"""So many steps without finite gradients one after the other end the run."""


class Signal(NamedTuple):
    """A batch cut into patches: normalised x [B, S, C, P], and bool [B, S] where a patch holds no padding."""

    x_BSCP: Tensor
    real_BS: Tensor


class Pretraining(lightning.LightningModule):
    """The model, what trains it, and the optimiser (§subsec:total-loss, §subsec:implementation).

    Args:
        config: the recipe.
        a_hat_NN: Â of the ontology, float [N, N].
        variants_NKE: sentence embeddings of the concepts' textual variants; only MPCT needs them.
        total_steps: optimiser steps of the whole run; schedules and ramps span them.
    """

    def __init__(
        self, config: Config, a_hat_NN: Tensor, total_steps: int, variants_NKE: Tensor | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.total_steps = total_steps
        self.skipped_steps = 0
        self.non_finite_in_a_row = 0
        if len(a_hat_NN) != config.model.concepts:
            raise ConfigError(
                f"model.concepts is {config.model.concepts}, the ontology has {len(a_hat_NN)} concepts"
            )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.train.seed)
            self._build(a_hat_NN, variants_NKE)

    def _build(self, a_hat_NN: Tensor, variants_NKE: Tensor | None) -> None:
        config, shape = self.config, self.config.model
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
            self.ema = Ema(self._slow_part())
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
            assert variants_NKE is not None, "MPCT compares records with text"
            self.text = TextAlignment(variants_NKE, width, shape.concept_width)
        # What no loss of the recipe reaches takes no gradient, so that DDP waits for none.
        self.model.pool.requires_grad_(bool(config.view or config.gscl or config.mpct))
        self.model.to_concepts.requires_grad_(bool(config.gscl or config.mpct))

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """Every loss of the recipe by name, unweighted."""
        config, model, supervision = self.config, self.model, batch.supervision
        generator = self._generator(batch.number)
        signal = self._patches(batch.x_BCL, batch.n_valid_B)
        x_BSCP, real_BS = signal
        context = config.model.context_patches
        real_BT = real_BS[:, :context]
        masked_BTC = random_mask(len(x_BSCP), context, len(LEADS), config.ar.mask_ratio, generator).to(
            x_BSCP.device
        )

        h_BTCD = self._encode(signal, masked_BTC, generator)
        named = ar_losses(self.decoder(h_BTCD, x_BSCP), x_BSCP, masked_BTC, real_BS)

        if config.jepa:
            named["jepa"] = jepa_loss(self.predictor(h_BTCD), self._ema_tokens(signal), masked_BTC)

        rhythm_BD = model.pool(h_BTCD, real_BT)
        if config.view:
            augmented = AUGMENTATIONS[config.view.augmentation](batch.x_BCL, config.model.fs, generator)
            second = self._patches(augmented, batch.n_valid_B)
            second_BD = model.pool(self._encode(second, torch.zeros_like(masked_BTC), generator), real_BT)
            named["view"] = nt_xent(
                self._all_ranks(self.view_head(rhythm_BD)),
                self._all_ranks(self.view_head(second_BD)),
                config.view.tau,
            )

        concept_BK = model.to_concepts(rhythm_BD)
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
        return named

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
            lead_B1C = torch.rand(len(x_BTCP), 1, x_BTCP.shape[2], generator=generator) < regulariser.p_lead
            hidden_BTC = hidden_BTC | lead_B1C.to(hidden_BTC.device)
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

    def _slow_part(self) -> nn.ModuleList:
        """What the EMA follows."""
        return nn.ModuleList([self.model.tokens, self.model.encoder])

    def _all_ranks(self, z_BK: Tensor) -> Tensor:
        """The projections of all ranks, with gradients, so that every rank has the same negatives."""
        if self.trainer.world_size == 1:
            return z_BK
        gathered = self.all_gather(z_BK, sync_grads=True)
        assert isinstance(gathered, Tensor)
        return gathered.flatten(0, 1)

    def _generator(self, number: int) -> torch.Generator:
        """What micro-batch k draws on this rank, however the run came to it."""
        seed = np.random.SeedSequence([self.config.train.seed, number, self.global_rank]).generate_state(1)
        return torch.Generator().manual_seed(int(seed[0]))

    def training_step(self, batch: Batch, batch_idx: int) -> dict[str, Tensor]:
        """Return the total under `loss` and every named loss beside it."""
        epoch = self.config.train.max_epochs * self.global_step / self.total_steps
        named = self.losses(batch)
        loss = total_loss(named, self.config, epoch)
        return {"loss": loss, **{name: value.detach() for name, value in named.items()}}

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Skip a step whose gradients aren't finite (§subsec:implementation): without any, AdamW rests."""
        gradients = [parameter.grad for parameter in self.parameters() if parameter.grad is not None]
        finite = bool(torch.stack([gradient.isfinite().all() for gradient in gradients]).all())
        if self.trainer.strategy.reduce_boolean_decision(finite, all=True):
            self.non_finite_in_a_row = 0
            return
        self.zero_grad(set_to_none=True)
        self.skipped_steps += 1
        self.non_finite_in_a_row += 1
        logger.warning("step %d skipped: its gradients are not finite", self.global_step + 1)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Step, then let the EMA follow."""
        super().optimizer_step(*args, **kwargs)
        if self.config.jepa:
            self.ema.update(
                self._slow_part(),
                momentum_at(self.global_step, self.total_steps, self.config.jepa.momentum),
            )

    def configure_optimizers(self) -> Any:
        """AdamW over the encoder and its heads; MSPS's heads are groups of their own on the same schedule."""
        train = self.config.train
        msps = [self.rhythm_head, self.position_head] if self.config.msps else []
        others = [module for module in self.children() if module not in msps]
        optimizer = torch.optim.AdamW(
            parameter_groups([*others, *msps], train.weight_decay), lr=train.lr, betas=train.betas
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: lr_factor(step, self.total_steps, train)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the count of skipped steps."""
        checkpoint["skipped_steps"] = [self.skipped_steps, self.non_finite_in_a_row]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on counting skipped steps."""
        self.skipped_steps, self.non_finite_in_a_row = checkpoint["skipped_steps"]

    def export(self) -> MarEcg:
        """The model with the prototypes as they stand, in eval mode; the heads stay behind."""
        if self.config.gscl:
            with torch.no_grad():
                self.model.prototypes.copy_(self.prototypes())
        return self.model.eval()
