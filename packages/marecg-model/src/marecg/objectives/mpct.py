"""Multi-prototype concept-text alignment: the three terms of eq. mgca-loss (§subsec:auxiliary).

The text of a record is the bag of text variants of its active leaves. A record without active leaves doesn't
count in any of the three terms.

Shapes: B records (also A in comparisons of two records), T patches, K beats, V text variants (three per
concept), N concepts, D width, but in the losses the width of the common space, W width of the common space,
E text width.
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax, normalize

from marecg.nn.precision import in_float32
from marecg.nn.text import TextAlignment, pool_beats
from marecg.objectives.concept_text import embedded
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen, paper


class MpctConfig(ObjectiveConfig):
    """Multi-prototype concept-text alignment (§subsec:auxiliary)."""

    captions = {
        "ica": "a record against its concepts' texts",
        "bca": "beats against those texts",
        "opa": "assignment to the concepts' texts",
    }
    needs_codes = True

    weight: float = paper(0.3, "§sec:values: λ_MPCT", ge=0)
    beta_ica: float = paper(0.3, "§sec:values", ge=0)
    beta_bca: float = paper(0.3, "§sec:values", ge=0)
    beta_opa: float = paper(0.2, "§sec:values", ge=0)
    tau: float = chosen(0.07, "same value as in GSCL and the view contrast", gt=0)
    beat_reach: int = chosen(100, "samples of a beat on each side of its R-peak, 0.4 s in total", gt=0)


class Mpct(Objective, of=MpctConfig):
    """Alignment of records and beats with the frozen texts of their concepts."""

    reaches = frozenset({"pool", "to_concepts"})
    settings: MpctConfig

    def __init__(self, settings: MpctConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        shape = parts.shape
        self.patch, self.stride = shape.patch, shape.stride
        self.text = TextAlignment(embedded(parts.ontology, parts.texts), shape.width, shape.concept_width)

    def losses(self, views: Views) -> Losses:
        """Return L_ICA, L_BCA and L_OPA with their weights β (eq. mgca-loss)."""
        mpct, view = self.settings, views.supervised
        truth, concept_BK = view.supervision, view.concept_BK
        beats_BKD, real_BK = pool_beats(
            view.h_bar_BTD, view.real_BT, truth.rpeaks_BK, self.patch, self.stride, mpct.beat_reach
        )
        to = self.text(beats_BKD, view.rhythm_BD)
        active_BV = self.text.active_variants(truth.y_BN)
        ica = instance_concept_loss(concept_BK, to.text_VW, active_BV, mpct.tau)
        bca = beat_concept_loss(to.beats_BKW, real_BK, to.text_VW, active_BV, mpct.tau)
        opa = ontology_prototype_loss(to.record_BE, to.prototypes_NE, truth.y_BN, mpct.tau)
        return {"ica": (mpct.beta_ica, ica), "bca": (mpct.beta_bca, bca), "opa": (mpct.beta_opa, opa)}


@in_float32
def instance_concept_loss(h_BD: Tensor, text_VD: Tensor, active_BV: Tensor, tau: float) -> Tensor:
    """Return L_ICA: two-way InfoNCE between records and cross-attention summaries of their texts.

    Args:
        active_BV: bool, the text variants of each record's active leaves.
    """
    described_B = active_BV.any(1)
    score_BV = h_BD @ text_VD.T * h_BD.shape[-1] ** -0.5
    weight_BV = score_BV.masked_fill(~_some(active_BV), -torch.inf).softmax(-1)
    like_BB = normalize(h_BD, dim=-1) @ normalize(weight_BV @ text_VD, dim=-1).T
    return _two_way_infonce(like_BB / tau, active_BV, described_B)


@in_float32
def beat_concept_loss(
    beats_BKD: Tensor, real_BK: Tensor, text_VD: Tensor, active_BV: Tensor, tau: float
) -> Tensor:
    """Return L_BCA: two-way InfoNCE between a record's beats and its leaves' texts, by cross-attention.

    The similarity of record a and record b's text is the mean of two terms. The first compares a's beats with
    their summaries of b's variants. The second compares b's variants with their summaries of a's beats.

    Args:
        beats_BKD: features pooled around R-peaks. `real_BK` is False for beats that the record doesn't have.
    """
    both_B = active_BV.any(1) & real_BK.any(1)
    attended_BV, attended_BK = _some(active_BV), _some(real_BK)
    score_BKV = beats_BKD @ text_VD.T * beats_BKD.shape[-1] ** -0.5
    beats, text = normalize(beats_BKD, dim=-1), normalize(text_VD, dim=-1)

    # beats of record a attend to the text of record b
    weight_ABKV = score_BKV[:, None].masked_fill(~attended_BV[None, :, None], -torch.inf).softmax(-1)
    answer_ABKD = normalize(weight_ABKV @ text_VD, dim=-1)
    beat_like_ABK = (answer_ABKD * beats[:, None]).sum(-1)
    real_A1K = real_BK[:, None]
    beats_to_text_AB = (beat_like_ABK * real_A1K).sum(-1) / real_A1K.sum(-1).clamp(min=1)

    # variants of record b attend to the beats of record a
    weight_AKV = score_BKV.masked_fill(~attended_BK[..., None], -torch.inf).softmax(1)
    answer_AVD = normalize(weight_AKV.transpose(1, 2) @ beats_BKD, dim=-1)
    text_like_AV = (answer_AVD * text).sum(-1)
    active = active_BV.to(text_like_AV.dtype)
    text_to_beats_AB = text_like_AV @ active.T / active.sum(-1).clamp(min=1)

    return _two_way_infonce((beats_to_text_AB + text_to_beats_AB) / 2 / tau, active_BV, both_B)


@in_float32
def ontology_prototype_loss(h_BD: Tensor, prototypes_ND: Tensor, y_BN: Tensor, tau: float) -> Tensor:
    """Return L_OPA: KL divergence of the soft assignment from the uniform distribution over active leaves."""
    active_B1 = y_BN.sum(-1, keepdim=True)
    logits_BN = normalize(h_BD, dim=-1) @ normalize(prototypes_ND.detach(), dim=-1).T / tau
    uniform_BN = (y_BN / active_B1.clamp(min=1)).to(logits_BN.dtype)
    divergence = kl_div(log_softmax(logits_BN, dim=-1), uniform_BN, reduction="sum")
    return divergence / (active_B1 > 0).sum().clamp(min=1)


def _some(attended_BK: Tensor) -> Tensor:
    """Return the attention mask; empty rows become all True, because their softmax would be NaN."""
    return attended_BK | ~attended_BK.any(1, keepdim=True)


def _two_way_infonce(logits_BB: Tensor, active_BV: Tensor, counted_B: Tensor) -> Tensor:
    """Return InfoNCE of each counted record against the counted texts, and of each text against the records.

    Records with identical texts aren't negatives of each other. Masks leave out records, because with indices
    a GPU would have to wait for the number of records.
    """
    own_B = torch.arange(len(logits_BB), device=logits_BB.device)
    same_BB = (active_BV[:, None] == active_BV[None]).all(-1)
    negative_BB = ~same_BB & counted_B[:, None] & counted_B
    logits_BB = logits_BB.masked_fill(~(negative_BB | (own_B[:, None] == own_B)), -torch.inf)
    loss_B = cross_entropy(logits_BB, own_B, reduction="none")
    loss_B = (loss_B + cross_entropy(logits_BB.T, own_B, reduction="none")) / 2
    return (loss_B * counted_B).sum() / counted_B.sum().clamp(min=1)
