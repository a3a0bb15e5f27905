"""Random masks: the set M of (lead, patch) pairs that are hidden from the encoder (§Backbone of the paper).

Shapes: B batch, T patches, C leads.
"""

import math
from fractions import Fraction

import torch
from torch import Tensor


def random_mask(batch: int, patches: int, leads: int, ratio: float, generator: torch.Generator) -> Tensor:
    """Draw a mask for each record: exactly ⌈ratio·C·T⌉ (lead, patch) pairs, all equally likely.

    Returns:
        bool [B, T, C], True if masked, on the generator's device.
    """
    pairs = patches * leads
    rank = torch.rand(batch, pairs, generator=generator, device=generator.device).argsort(1).argsort(1)
    masked = math.ceil(Fraction(str(ratio)) * pairs)  # in floating point, 0.55 · 420 exceeds 231
    return (rank < masked).view(batch, patches, leads)


def block_mask(
    batch: int, patches: int, leads: int, ratio: float, block: tuple[int, int], generator: torch.Generator
) -> Tensor:
    """Draw masks that hide blocks of patches and leads, which are harder to interpolate than single patches.

    Of n blocks in a record, ⌈ratio·n⌉ are masked. A block of (1, 1) gives the result of `random_mask`.

    Args:
        block: number of consecutive patches and number of leads in a block. Which leads form a block is drawn
            for each record.

    Returns:
        bool [B, T, C], True if masked, as from `random_mask`.
    """
    along, across = block
    coarse = random_mask(batch, math.ceil(patches / along), math.ceil(leads / across), ratio, generator)
    if block == (1, 1):
        return coarse
    blocks_BTC = coarse.repeat_interleave(along, 1)[:, :patches].repeat_interleave(across, 2)[..., :leads]
    order_BC = torch.rand(batch, leads, generator=generator, device=generator.device).argsort(1)
    return blocks_BTC.gather(2, order_BC[:, None].expand_as(blocks_BTC))
