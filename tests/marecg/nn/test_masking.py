"""The masked index set M."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from marecg.nn.masking import random_mask


@given(st.integers(1, 4), st.integers(1, 20), st.integers(1, 12), st.floats(0, 0.99), st.integers(0, 2**31))
def test_every_record_has_exactly_ceil_r_c_t_masked_pairs(
    batch: int, patches: int, leads: int, ratio: float, seed: int
) -> None:
    mask = random_mask(batch, patches, leads, ratio, torch.Generator().manual_seed(seed))
    assert mask.shape == (batch, patches, leads)
    assert mask.sum((1, 2)).tolist() == [math.ceil(ratio * leads * patches)] * batch


def test_every_pair_is_masked_equally_often() -> None:
    mask = random_mask(4000, 5, 4, 0.3, torch.Generator().manual_seed(0))
    frequency = mask.float().mean(0)
    assert (frequency - 0.3).abs().max() < 4 * math.sqrt(0.3 * 0.7 / 4000)


def test_the_same_generator_draws_the_same_mask_and_another_draws_another() -> None:
    masks = [random_mask(2, 10, 12, 0.5, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
