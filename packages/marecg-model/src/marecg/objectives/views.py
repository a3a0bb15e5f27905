"""Encoder passes over a batch, computed on first use and shared by all objectives.

In a masked pass, a set M of (lead, patch) pairs is hidden from the encoder. In a clean pass, M is empty.
The symbols are H, the encoder's output with a vector per patch and lead; H̄, its mean over leads; h_rhythm,
the embedding of a record; and q, the predicted distribution over concepts.

Shapes: B batch, C leads, L samples, T context patches, S patches of the record window, P samples per patch,
D width, K concept width (d_c), N concepts.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from ecg_records.signal.leads import LEADS
from marecg.model.batch import Batch, Supervision
from marecg.model.mar_ecg import MarEcg
from marecg.nn.dropout import dropout
from marecg.nn.masking import block_mask
from marecg.nn.pooling import lead_mean, real_or_all
from marecg.nn.revin import Scale
from marecg.nn.tokens import full_patches, patchify, silent_leads
from marecg.objectives.augment import AUGMENTATIONS, Augment
from marecg.settings import Settings, chosen, paper

Augmentation = Literal["unconstrained", "rhythm-safe", "denoised"]
"""Names of the augmentations in `AUGMENTATIONS`."""


class MaskingConfig(Settings):
    """Settings of the masked pass: how the hidden (lead, patch) pairs M are drawn."""

    ratio: float = chosen(0.5, "r; HeartLang 0.5, ST-MEM 0.75, MAR 0.7–1", ge=0, lt=1)
    block_patches: int = chosen(
        1, "hides single patches; longer stretches can't be filled by interpolation", gt=0
    )
    block_leads: int = chosen(1, "number of leads hidden together", gt=0, le=len(LEADS))
    hidden_leads: bool = chosen(False, "also predicts leads hidden by the regulariser")


class CleanConfig(Settings):
    """Settings of the pass over the unmasked record."""

    supervised: bool = chosen(False, "the paper uses one masked pass; small and base add an unmasked pass")
    augmentation: Augmentation | None = chosen(None, "supervises the unchanged record")
    crop: bool = chosen(False, "uses the first part of the window in every epoch")


class RegulariserConfig(Settings):
    """Settings of two regularisers: hiding random leads from the encoder, and dropout on its output H."""

    p_lead: float = paper(0.25, "§sec:values: a lead is hidden from the encoder", ge=0, lt=1)
    p_drop: float = paper(0.1, "§sec:values: latent dropout", ge=0, lt=1)


class Signal(NamedTuple):
    """Batch in patches: normalised x [B, S, C, P], and the mask [B, S] of patches without padding.

    `scale` is the mean and standard deviation that RevIN removed. `absent_BC` marks absent leads.
    """

    x_BSCP: Tensor
    real_BS: Tensor
    scale: Scale
    absent_BC: Tensor

    @property
    def hidden_BSC(self) -> Tensor:
        """Mask of padding and absent leads, bool [B, S, C]."""
        return ~self.real_BS[..., None] | self.absent_BC[:, None]


class Pass:
    """Encoder pass over the batch, with its pooled embeddings.

    Attributes:
        x_BSCP: patches of the whole window, normalised per lead. The patches of the context come first.
        real_BS: mask of patches without padding.
        hidden_BSC: mask of padding and absent leads.
        masked_BTC: mask of the pairs in M. No pair is marked in a clean pass.
        h_BTCD: H of the context.
        encoded: H of the context and all results of `part`, with gradients.
        supervision: labels, targets and physiology for the part of each record that this pass encodes.
    """

    def __init__(
        self,
        model: MarEcg,
        signal: Signal,
        masked_BTC: Tensor,
        h_BTCD: Tensor,
        supervision: Supervision,
    ) -> None:
        self._model = model
        self._signal = signal
        self.x_BSCP, self.real_BS, self.hidden_BSC = signal.x_BSCP, signal.real_BS, signal.hidden_BSC
        self.masked_BTC = masked_BTC
        self.h_BTCD = h_BTCD
        self.encoded = [h_BTCD]
        self.supervision = supervision

    @property
    def real_BT(self) -> Tensor:
        """Mask of patches without padding."""
        return self.real_BS[:, : self.h_BTCD.shape[1]]

    @cached_property
    def rhythm_BD(self) -> Tensor:
        """h_rhythm (eq. rhythm-pool)."""
        return self.pooled(self.h_BTCD, self.real_BT)

    @cached_property
    def h_bar_BTD(self) -> Tensor:
        """H̄, the mean over leads."""
        return lead_mean(self.h_BTCD)

    @cached_property
    def concept_BK(self) -> Tensor:
        """Record embeddings in the concept space, not yet normalised: a linear map of h_rhythm."""
        return self._model.to_concepts(self.rhythm_BD)  # type: ignore[no-any-return]

    def pooled(self, h_BTCD: Tensor, real_BT: Tensor) -> Tensor:
        """Return h_rhythm, [B, D], pooled from H. Patches for which `real_BT` is False are ignored."""
        return self._model.pool(h_BTCD, real_BT)  # type: ignore[no-any-return]

    def part(self, start: int, stop: int) -> Tensor:
        """Encode the patches `start` to `stop` − 1 as separate records, [B, stop − start, C, D].

        Each part is normalised by its own mean and standard deviation. The statistics of the whole record
        would leak information from one part into another.
        """
        x_BSCP, real_BS, *_ = self._signal
        cut = self._signal._replace(x_BSCP=x_BSCP[:, start:stop], real_BS=real_BS[:, start:stop])
        part = _rescaled(cut, self._model.revin.eps)
        h_BTCD = _clean_h(part, stop - start, self._model.tokens, self._model.encoder)
        self.encoded.append(h_BTCD)
        return h_BTCD

    @torch.no_grad()
    def by(self, tokens: nn.Module, encoder: nn.Module) -> Tensor:
        """Encode this pass's signal without a mask, by another token embedding and encoder.

        Returns:
            H, [B, T, C, D], without gradients.
        """
        return _clean_h(self._signal, self.h_BTCD.shape[1], tokens, encoder)


class Views:
    """Encoder passes over a micro-batch.

    Random numbers are drawn when a pass is first used. They thus depend on the order of the objectives.

    Args:
        model: model that is trained.
        batch: signals and supervision of the records.
        masking: settings of the masked pass.
        clean: settings of the unmasked pass.
        regulariser: settings for hiding leads and dropping entries of H, in every pass. None turns both off.
        generator: source of all random numbers of this micro-batch. They are copied to the batch's device.
        all_ranks: function that gathers a tensor [B, K] from all processes of the run, with gradients.

    Attributes:
        logits_BN: logits of q, used to monitor the run. None until an objective sets them.
    """

    def __init__(
        self,
        model: MarEcg,
        batch: Batch,
        masking: MaskingConfig,
        clean: CleanConfig,
        regulariser: RegulariserConfig | None,
        generator: torch.Generator,
        all_ranks: Callable[[Tensor], Tensor],
    ) -> None:
        self.model = model
        self.batch = batch
        self.masking = masking
        self.cleaning = clean
        self.regulariser = regulariser
        self.generator = generator
        self.all_ranks = all_ranks
        self.logits_BN: Tensor | None = None
        self._clean: dict[tuple[Augmentation | Augment | None, int], Pass] = {}

    @cached_property
    def masked(self) -> Pass:
        """Pass over the records with M, padding, absent leads and the regulariser's random leads hidden."""
        masking, context = self.masking, self.model.config.context_patches
        block = (masking.block_patches, masking.block_leads)
        masked_BTC = block_mask(
            len(self.batch.d_BCL), context, len(LEADS), masking.ratio, block, self.generator
        )
        masked_BTC = masked_BTC.to(self.batch.d_BCL.device)
        return self._passed(
            self.signal, masked_BTC, self.batch.supervision, predict_hidden_leads=masking.hidden_leads
        )

    @property
    def supervised(self) -> Pass:
        """Pass that losses with labels use: the clean pass if `clean.supervised` is True, else the masked."""
        return self.clean(self.cleaning.augmentation) if self.cleaning.supervised else self.masked

    def clean(self, augmentation: Augmentation | Augment | None = None, number: int = 0) -> Pass:
        """Encode the unmasked records, optionally with an augmentation.

        The pass is computed once per augmentation and number.

        Args:
            augmentation: name or function. No augmentation if None.
            number: number of the pass. For another number, crop and augmentation are drawn anew.
        """
        if (augmentation, number) not in self._clean:
            self._clean[augmentation, number] = self._cleanly(augmentation)
        return self._clean[augmentation, number]

    @property
    def first(self) -> Pass:
        """Pass used to monitor the run: the masked pass, or a clean pass if there is no masked pass."""
        if "masked" in self.__dict__ or not self._clean:
            return self.masked
        return next(iter(self._clean.values()))

    @torch.no_grad()
    def slow(self, tokens: nn.Module, encoder: nn.Module) -> Tensor:
        """Encode the unmasked context by another token embedding and encoder, such as a slow copy.

        Returns:
            H, [B, T, C, D], without gradients.
        """
        return _clean_h(self.signal, self.model.config.context_patches, tokens, encoder)

    @property
    def encoded(self) -> list[Tensor]:
        """Outputs H, with gradients, of all encoder passes so far."""
        return [h_BTCD for encoder_pass in self._passes for h_BTCD in encoder_pass.encoded]

    @cached_property
    def signal(self) -> Signal:
        """Unmasked records, normalised and cut into patches."""
        return self._patches(self.batch.x_BCL, self.batch.n_valid_B)

    @property
    def _passes(self) -> list[Pass]:
        return [*self._clean.values(), *([self.masked] if "masked" in self.__dict__ else [])]

    def _cleanly(self, augmentation: Augmentation | Augment | None) -> Pass:
        shape, batch = self.model.config, self.batch
        x_BCL, n_valid_B, supervision = batch.x_BCL, batch.n_valid_B, batch.supervision
        signal = self.signal
        if self.cleaning.crop:
            spare_B = (n_valid_B - shape.context).clamp(min=0) // shape.stride
            draw_B = torch.rand(len(x_BCL), generator=self.generator, device=self.generator.device)
            start_B = (draw_B.to(x_BCL.device) * (spare_B + 1)).long()
            x_BCL = _cut(x_BCL, start_B * shape.stride, shape.context)
            n_valid_B = (n_valid_B - start_B * shape.stride).clamp(max=shape.context)
            supervision = supervision.later(start_B, shape)
        if augmentation is not None:
            augment = augmentation if callable(augmentation) else AUGMENTATIONS[augmentation]
            x_BCL = augment(x_BCL, n_valid_B, shape.fs, self.generator)
        if self.cleaning.crop or augmentation is not None:
            signal = self._patches(x_BCL, n_valid_B)
        shape_BTC = (len(x_BCL), shape.context_patches, len(LEADS))
        unmasked_BTC = torch.zeros(shape_BTC, dtype=torch.bool, device=x_BCL.device)
        return self._passed(signal, unmasked_BTC, supervision)

    def _passed(
        self,
        signal: Signal,
        masked_BTC: Tensor,
        supervision: Supervision,
        *,
        predict_hidden_leads: bool = False,
    ) -> Pass:
        """Encode the context, with masked pairs, padding and absent leads hidden.

        The regulariser hides further leads. If `predict_hidden_leads` is True, these leads also belong to M.
        """
        regulariser, generator = self.regulariser, self.generator
        x_BTCP = signal.x_BSCP[:, : masked_BTC.shape[1]]
        hidden_BTC = masked_BTC | signal.hidden_BSC[:, : masked_BTC.shape[1]]
        if regulariser:
            lead_shape = (len(x_BTCP), 1, x_BTCP.shape[2])
            draw_B1C = torch.rand(lead_shape, generator=generator, device=generator.device)
            lead_B1C = (draw_B1C < regulariser.p_lead).to(hidden_BTC.device)
            hidden_BTC = hidden_BTC | lead_B1C
            if predict_hidden_leads:
                masked_BTC = masked_BTC | lead_B1C
        h_BTCD = self.model.encoder(self.model.tokens(x_BTCP, hidden_BTC, signal.scale))
        if regulariser:
            h_BTCD = dropout(h_BTCD, regulariser.p_drop, generator)
        masked_BTC = masked_BTC & ~signal.absent_BC[:, None]  # absent leads can't be restored
        return Pass(self.model, signal, masked_BTC, h_BTCD, supervision.of_patches(masked_BTC.shape[1]))

    def _patches(self, x_BCL: Tensor, n_valid_B: Tensor) -> Signal:
        """Normalise the signal with RevIN and cut it into patches."""
        shape = self.model.config
        normalised_BCL, scale = self.model.revin(x_BCL, n_valid_B)
        x_BSCP = patchify(normalised_BCL, shape.patch, shape.stride)
        real_BS = full_patches(n_valid_B, x_BSCP.shape[1], shape.patch, shape.stride)
        return Signal(x_BSCP, real_BS, scale, silent_leads(self.batch.d_BCL))


def _clean_h(signal: Signal, patches: int, tokens: nn.Module, encoder: nn.Module) -> Tensor:
    """Return H of a signal's first patches, without a mask."""
    hidden_BTC = signal.hidden_BSC[:, :patches]
    return encoder(tokens(signal.x_BSCP[:, :patches], hidden_BTC, signal.scale))  # type: ignore[no-any-return]


def _rescaled(signal: Signal, eps: float) -> Signal:
    """Normalise a part of a signal by the part's own statistics, as RevIN does.

    Samples that are in two overlapping patches count twice.
    """
    x_BSCP, real_BS, scale, absent_BC = signal
    weight_BS11 = real_or_all(real_BS)[..., None, None].to(x_BSCP.dtype)
    count_B111 = weight_BS11.sum(1, keepdim=True) * x_BSCP.shape[-1]
    mean_B1C1 = (x_BSCP * weight_BS11).sum((1, 3), keepdim=True) / count_B111
    centred_BSCP = x_BSCP - mean_B1C1
    var_B1C1 = (centred_BSCP.square() * weight_BS11).sum((1, 3), keepdim=True) / count_B111
    std_BC1 = (var_B1C1[:, 0] * scale.std_BC1.square() + eps).sqrt()
    new = Scale(scale.mean_BC1 + mean_B1C1[:, 0] * scale.std_BC1, std_BC1)
    return Signal(
        centred_BSCP * (scale.std_BC1 / std_BC1)[:, None] * real_BS[..., None, None], real_BS, new, absent_BC
    )


def _cut(x_BCL: Tensor, start_B: Tensor, length: int) -> Tensor:
    """Return `length` samples of each record, beginning at `start_B`."""
    sample_BL = start_B[:, None] + torch.arange(length, device=x_BCL.device)
    return x_BCL.gather(2, sample_BL[:, None].expand(-1, x_BCL.shape[1], -1))
