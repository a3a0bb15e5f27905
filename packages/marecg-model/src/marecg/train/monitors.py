"""Signs of collapse, read off a step: is h_rhythm still spread out, is q still undecided, who pulls how hard.

Shapes: B batch, T patches, C leads, D width, N concepts.
"""

import math

import torch
from torch import Tensor

from marecg.nn.collapse import effective_rank
from marecg.train.network import Outcome


def monitor(outcome: Outcome) -> dict[str, float]:
    """The monitors of one micro-batch.

    Returns:
        `std` and `rank` of h_rhythm; `entropy` of q in nats, where there is a q; and for each loss
        `grad_…`, the norm of the gradient that it alone sends into H, before any weight: into those of all
        passes together, because not every loss reads the masked one.
    """
    views = outcome.views
    rhythm_BD = views.first.rhythm_BD.detach().float()
    monitors = {"std": float(rhythm_BD.std(0, correction=0).mean()), "rank": effective_rank(rhythm_BD)}
    if views.logits_BN is not None:
        monitors["entropy"] = entropy(views.logits_BN.detach().float())
    for name, loss in outcome.named.items():
        gradients = torch.autograd.grad(loss, views.encoded, retain_graph=True, allow_unused=True)
        monitors[f"grad_{name}"] = math.hypot(*(float(each.norm()) for each in gradients if each is not None))
    return monitors


def entropy(logits_BN: Tensor) -> float:
    """Mean entropy of softmax(logits), in nats: log N where nothing is told apart."""
    log_q_BN = logits_BN.log_softmax(-1)
    return float(-(log_q_BN.exp() * log_q_BN).sum(-1).mean())
