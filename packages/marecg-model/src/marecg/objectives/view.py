"""View contrast: SimCLR's NT-Xent on two views of each record (§subsec:auxiliary).

Shapes: B batch, K projection width (d_view).
"""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize


def nt_xent(first_BK: Tensor, second_BK: Tensor, tau: float) -> Tensor:
    """Each view finds its record's other view among all other views of the batch.

    Args:
        first_BK, second_BK: projections of h_rhythm, in the same record order; over all ranks, if there
            are several, so that every record's negatives are the whole batch.
        tau: τ_view.
    """
    views_2BK = normalize(torch.cat([first_BK, second_BK]), dim=-1)
    similarity = views_2BK @ views_2BK.T / tau
    itself = torch.eye(len(views_2BK), dtype=torch.bool, device=views_2BK.device)
    partner = torch.arange(len(views_2BK), device=views_2BK.device).roll(len(first_BK))
    return cross_entropy(similarity.masked_fill(itself, -torch.inf), partner)
