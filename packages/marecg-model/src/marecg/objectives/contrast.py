"""Losses that compare two views of each record: NT-Xent, InfoNCE and negative cosine similarity.

Shapes: B batch, K projection width.
"""

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from marecg.nn.precision import in_float32


@in_float32
def nt_xent(first_BK: Tensor, second_BK: Tensor, tau: float) -> Tensor:
    """Return NT-Xent. Each view must identify its record's other view among all views of the batch.

    Args:
        first_BK: projected record embeddings of the first view. If they are gathered from all processes of
            the run, the records of all processes serve as negatives.
        second_BK: projected record embeddings of the second view.
        tau: temperature.
    """
    views_2BK = normalize(torch.cat([first_BK, second_BK]), dim=-1)
    similarity = views_2BK @ views_2BK.T / tau
    same_view = torch.eye(len(views_2BK), dtype=torch.bool, device=views_2BK.device)
    partner = torch.arange(len(views_2BK), device=views_2BK.device).roll(len(first_BK))
    return cross_entropy(similarity.masked_fill(same_view, -torch.inf), partner)


@in_float32
def info_nce(query_BK: Tensor, key_BK: Tensor, tau: float) -> Tensor:
    """Return InfoNCE. Each query must identify its record's key among all keys.

    Source: van den Oord et al. 2018, eq. 4.
    """
    similarity_BB = normalize(query_BK, dim=-1) @ normalize(key_BK, dim=-1).T / tau
    return cross_entropy(similarity_BB, torch.arange(len(query_BK), device=query_BK.device))


def minus_cosine(predicted: Tensor, target: Tensor) -> Tensor:
    """Return the mean negative cosine of predictions and targets, over the last axis.

    Targets get no gradient.
    """
    return -cosine_similarity(predicted, target.detach(), dim=-1).mean()
