"""Graph-smoothed contrastive learning (GSCL), which moves a record towards the prototypes of its concepts.

The prediction q is a distribution over concepts, the softmax of a record's similarity to each prototype
(`marecg.nn.concepts`). The target t is a distribution around the record's leaf concept on the graph of the
ontology (eq. gscl-loss). A family is a root concept with all concepts below it.

Shapes: B batch, N concepts, K concept width (d_c), R families (roots).
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from marecg.model.batch import SoftTargets
from marecg.model.mar_ecg import MarEcg
from marecg.nn.concepts import concept_logits
from marecg.objectives.objective import Losses, Objective, ObjectiveConfig, Parts
from marecg.objectives.views import Views
from marecg.settings import chosen


class GsclConfig(SoftTargets, ObjectiveConfig):
    """Settings of graph-smoothed contrastive learning (GSCL)."""

    captions = {"gscl": "graph-smoothed contrast of records with concepts"}
    needs_codes = True

    weight: float = chosen(0.5, "λ_GSCL", ge=0)
    node_width: int = chosen(
        128, "d_e; gives about 55 k parameters on the concept side, as in the paper", gt=0
    )
    dropout: float = chosen(0.1, "Drop in eq. gscl-prototypes", ge=0, lt=1)
    a_hat: Literal["graph", "identity"] = chosen(
        "graph", "`identity` is a control in which prototypes don't share information"
    )

    families: float = chosen(
        0.0, "our addition: weight of the loss on families (Bertinetto et al. 2020)", ge=0
    )


class Gscl(Objective, of=GsclConfig):
    """Objective that contrasts records with prototypes. The exported model keeps the prototypes."""

    family_N: Tensor

    reaches = frozenset({"pool", "to_concepts"})

    def __init__(self, settings: GsclConfig, parts: Parts) -> None:
        from marecg.nn.prototypes import PrototypeHead  # noqa: PLC0415 (PyG, which only training loads)

        super().__init__(settings, parts)
        shape = parts.shape
        a_hat_NN = torch.tensor(parts.ontology.a_hat)
        if settings.a_hat == "identity":
            a_hat_NN = torch.eye(len(a_hat_NN), dtype=a_hat_NN.dtype)
        self.tau = shape.tau
        self.prototypes = PrototypeHead(a_hat_NN, settings.node_width, shape.concept_width, settings.dropout)
        self.register_buffer("family_N", torch.tensor(parts.ontology.families), persistent=False)
        self.families = settings.families
        if parts.model.prototypes.any():  # set by starting weights
            self.prototypes.begin_at(parts.model.prototypes)

    def losses(self, views: Views) -> Losses:
        """Return the loss `gscl`, and store the logits of q in `views`, where callbacks monitor them."""
        view = views.supervised
        concept_BK = view.concept_BK
        views.logits_BN = concept_logits(concept_BK, self.prototypes(views.generator), self.tau)
        loss = gscl_loss(views.logits_BN, view.supervision.target_BN)
        if self.families:
            loss = loss + self.families * family_loss(
                views.logits_BN, view.supervision.root_BN, self.family_N
            )
        return {"gscl": (1.0, loss)}

    @torch.no_grad()
    def export(self, model: MarEcg) -> None:
        """Copy the current prototypes into the exported model."""
        model.prototypes.copy_(self.prototypes())


def gscl_loss(logits_BN: Tensor, target_BN: Tensor) -> Tensor:
    """Return the cross-entropy of q against soft targets t, averaged over the records with a target.

    A record of which only families are known, but no leaf concept, has no target and doesn't count in the
    loss. Its row in `target_BN` is zero.
    """
    supervised_B = target_BN.sum(-1) > 0
    entropy_B = -(target_BN * log_softmax(logits_BN, dim=-1)).sum(-1)
    return (entropy_B * supervised_B).sum() / supervised_B.sum().clamp(min=1)


def family_loss(logits_BN: Tensor, active_BN: Tensor, family_N: Tensor) -> Tensor:
    """Return the cross-entropy of family probabilities against uniform targets over a record's families.

    The probability of a family is the sum of q over its concepts. A record has a family if any concept of the
    family is active, including the root. A record of which only the family is known thus trains the sum, not
    single concepts.

    Args:
        logits_BN: logits of q.
        active_BN: bool, active concepts of each record, roots included.
        family_N: root of each concept's family.
    """
    member_RN = family_N.unique()[:, None] == family_N  # type: ignore[no-untyped-call]
    log_q_B1N = log_softmax(logits_BN, dim=-1)[:, None]
    log_mass_BR = log_q_B1N.masked_fill(~member_RN, -torch.inf).logsumexp(-1)
    target_BR = (active_BN[:, None] & member_RN).any(-1).to(logits_BN.dtype)
    return gscl_loss(log_mass_BR, target_BR / target_BR.sum(-1, keepdim=True).clamp(min=1))
