"""Contrastive losses among the views of a batch, from queries to keys, and without negatives.

Shapes: B batch, K projection width.
"""

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from marecg.nn.precision import in_float32


@in_float32
def nt_xent(first_BK: Tensor, second_BK: Tensor, tau: float) -> Tensor:
    """Return NT-Xent, in which each view must find its record's other view among all views of the batch.

    Args:
        first_BK: projections of h_rhythm, gathered over all ranks, so that all records serve as negatives.
    """
    views_2BK = normalize(torch.cat([first_BK, second_BK]), dim=-1)
    similarity = views_2BK @ views_2BK.T / tau
    itself = torch.eye(len(views_2BK), dtype=torch.bool, device=views_2BK.device)
    partner = torch.arange(len(views_2BK), device=views_2BK.device).roll(len(first_BK))
    return cross_entropy(similarity.masked_fill(itself, -torch.inf), partner)


@in_float32
def info_nce(query_BK: Tensor, key_BK: Tensor, tau: float) -> Tensor:
    """Return InfoNCE, in which each query must find its record's key among all keys.

    Source: van den Oord et al. 2018, eq. 4.
    """
    similarity_BB = normalize(query_BK, dim=-1) @ normalize(key_BK, dim=-1).T / tau
    return cross_entropy(similarity_BB, torch.arange(len(query_BK), device=query_BK.device))


def minus_cosine(predicted: Tensor, target: Tensor) -> Tensor:
    """Return the mean of −cos of predictions and targets along the last axis. Targets get no gradient."""
    return -cosine_similarity(predicted, target.detach(), dim=-1).mean()
