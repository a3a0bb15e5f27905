"""Which (lead, patch) pairs the encoder does not see (§Backbone: the masked index set M).

Shapes: B batch, T patches, C leads.
"""

import math

import torch
from torch import Tensor


def random_mask(batch: int, patches: int, leads: int, ratio: float, generator: torch.Generator) -> Tensor:
    """Draw M for each record: exactly ⌈r·C·T⌉ (lead, patch) pairs, all equally likely.

    Returns:
        bool [B, T, C], True where masked; on the generator's device.
    """
    pairs = patches * leads
    rank = torch.rand(batch, pairs, generator=generator, device=generator.device).argsort(1).argsort(1)
    return (rank < math.ceil(ratio * pairs)).view(batch, patches, leads)
