"""Multi-prototype concept-text alignment (MPCT), which aligns records with texts about their concepts.

The texts of a record are the text variants of its active leaves, the leaf concepts that its codes state. A
record without active leaves doesn't count in any loss. The losses are the three terms of eq. mgca-loss in
the paper. L_ICA (instance-concept) compares whole records with texts. L_BCA (beat-concept) compares single
beats with texts. L_OPA (ontology prototypes) compares records with the prototypes of concepts. A concept's
prototype is the mean of the embeddings of its text variants.

Shapes: B records (A in comparisons of two records), T patches, K beats, V text variants (three per concept),
N concepts, D encoder width, E text width, W width of the common space. In the functions of the losses, D is
the width of the space in which vectors are compared: W for L_ICA and L_BCA, E for L_OPA.
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
    """Settings of multi-prototype concept-text alignment (MPCT)."""

    captions = {
        "ica": "contrast of records with their concepts' texts",
        "bca": "contrast of beats with their concepts' texts",
        "opa": "assignment of records to concepts",
    }
    needs_codes = True

    weight: float = paper(0.3, "§sec:values: λ_MPCT", ge=0)
    beta_ica: float = paper(0.3, "§sec:values", ge=0)
    beta_bca: float = paper(0.3, "§sec:values", ge=0)
    beta_opa: float = paper(0.2, "§sec:values", ge=0)
    tau: float = chosen(0.07, "same value as in GSCL and the view contrast", gt=0)
    beat_reach: int = chosen(100, "samples of a beat on each side of its R-peak, 0.4 s in total", gt=0)


class Mpct(Objective, of=MpctConfig):
    """Objective that aligns records and beats with the frozen texts of their concepts."""

    reaches = frozenset({"pool", "to_concepts"})
    settings: MpctConfig

    def __init__(self, settings: MpctConfig, parts: Parts) -> None:
        super().__init__(settings, parts)
        shape = parts.shape
        self.patch, self.stride = shape.patch, shape.stride
        self.text = TextAlignment(embedded(parts.ontology, parts.texts), shape.width, shape.concept_width)

    def losses(self, views: Views) -> Losses:
        """Return the losses L_ICA, L_BCA and L_OPA with their weights β (eq. mgca-loss)."""
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
    """Return L_ICA: InfoNCE in both directions between records and summaries of their texts.

    A record's summary is a weighted mean of its texts. The weights come from cross-attention.

    Args:
        h_BD: record embeddings in the common space.
        text_VD: text variants in the common space.
        active_BV: bool, text variants of each record's active leaves.
        tau: temperature.
    """
    described_B = active_BV.any(1)
    score_BV = h_BD @ text_VD.T * h_BD.shape[-1] ** -0.5
    weight_BV = score_BV.masked_fill(~_nonempty(active_BV), -torch.inf).softmax(-1)
    like_BB = normalize(h_BD, dim=-1) @ normalize(weight_BV @ text_VD, dim=-1).T
    return _two_way_infonce(like_BB / tau, active_BV, described_B)


@in_float32
def beat_concept_loss(
    beats_BKD: Tensor, real_BK: Tensor, text_VD: Tensor, active_BV: Tensor, tau: float
) -> Tensor:
    """Return L_BCA: InfoNCE in both directions between a record's beats and the texts of its leaves.

    The similarity of record a with the texts of record b is the mean of two terms. In the first, each beat of
    a attends to the texts of b, and is compared with the weighted mean of the texts. In the second, each text
    of b attends to the beats of a, and is compared with the weighted mean of the beats.

    Args:
        beats_BKD: features pooled around R-peaks.
        real_BK: False for the padding of records with fewer beats.
        text_VD: text variants in the common space.
        active_BV: bool, text variants of each record's active leaves.
        tau: temperature.
    """
    both_B = active_BV.any(1) & real_BK.any(1)
    attended_BV, attended_BK = _nonempty(active_BV), _nonempty(real_BK)
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
    """Return L_OPA, the KL divergence between two distributions over concepts, averaged over records.

    The first is uniform over the record's active leaves. The second is the softmax of the record's
    similarities to the prototypes, which get no gradient.

    Args:
        h_BD: record embeddings in the space of the sentence embeddings.
        prototypes_ND: mean sentence embedding of each concept's text variants.
        y_BN: 1 for the active leaves of each record, otherwise 0.
        tau: temperature.
    """
    active_B1 = y_BN.sum(-1, keepdim=True)
    logits_BN = normalize(h_BD, dim=-1) @ normalize(prototypes_ND.detach(), dim=-1).T / tau
    uniform_BN = (y_BN / active_B1.clamp(min=1)).to(logits_BN.dtype)
    divergence = kl_div(log_softmax(logits_BN, dim=-1), uniform_BN, reduction="sum")
    return divergence / (active_B1 > 0).sum().clamp(min=1)


def _nonempty(attended_BK: Tensor) -> Tensor:
    """Return the attention mask with empty rows set to True, because their softmax would be NaN."""
    return attended_BK | ~attended_BK.any(1, keepdim=True)


def _two_way_infonce(logits_BB: Tensor, active_BV: Tensor, counted_B: Tensor) -> Tensor:
    """Return the mean of InfoNCE from records to texts and InfoNCE from texts to records.

    Only records for which `counted_B` is True take part. Records with identical texts aren't negatives of
    each other. Other records are masked rather than removed by indexing, because indexing would make the CPU
    wait until the GPU knows the number of records.
    """
    own_B = torch.arange(len(logits_BB), device=logits_BB.device)
    same_BB = (active_BV[:, None] == active_BV[None]).all(-1)
    negative_BB = ~same_BB & counted_B[:, None] & counted_B
    logits_BB = logits_BB.masked_fill(~(negative_BB | (own_B[:, None] == own_B)), -torch.inf)
    loss_B = cross_entropy(logits_BB, own_B, reduction="none")
    loss_B = (loss_B + cross_entropy(logits_BB.T, own_B, reduction="none")) / 2
    return (loss_B * counted_B).sum() / counted_B.sum().clamp(min=1)
