"""The masked index set M."""

import math
from fractions import Fraction

import torch
from hypothesis import given
from hypothesis import strategies as st

from marecg.nn.masking import block_mask, random_mask


@given(st.integers(1, 4), st.integers(1, 20), st.integers(1, 12), st.floats(0, 0.99), st.integers(0, 2**31))
def test_every_record_has_exactly_ceil_r_c_t_masked_pairs(batch, patches, leads, ratio, seed):
    mask = random_mask(batch, patches, leads, ratio, torch.Generator().manual_seed(seed))
    assert mask.shape == (batch, patches, leads)
    assert mask.sum((1, 2)).tolist() == [math.ceil(Fraction(str(ratio)) * leads * patches)] * batch


def test_a_ratio_of_hundredths_counts_as_it_is_written():
    """0.55 · 12 · 35 is 231, and as floats 231.00000000000003."""
    assert random_mask(1, 35, 12, 0.55, torch.Generator().manual_seed(0)).sum() == 231


def test_every_pair_is_masked_equally_often():
    mask = random_mask(4000, 5, 4, 0.3, torch.Generator().manual_seed(0))
    frequency = mask.float().mean(0)
    assert (frequency - 0.3).abs().max() < 4 * math.sqrt(0.3 * 0.7 / 4000)


def test_the_same_generator_draws_the_same_mask_and_another_draws_another():
    masks = [random_mask(2, 10, 12, 0.5, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_blocks_hide_whole_stretches_of_several_leads_at_once():
    mask_BTC = block_mask(64, 35, 12, 0.5, (4, 3), torch.Generator().manual_seed(0))
    stretches = mask_BTC[:, :32].reshape(64, 8, 4, 12)
    assert torch.equal(stretches.all(2), stretches.any(2))
    for pattern_TC in mask_BTC[:, ::4]:
        columns = [tuple(column.tolist()) for column in pattern_TC.T]
        assert all(columns.count(column) % 3 == 0 for column in columns)
    share = mask_BTC.float().mean()
    assert abs(share - 0.5) < 0.03


def test_which_leads_go_together_is_drawn_for_each_record():
    mask_BTC = block_mask(64, 8, 12, 0.5, (4, 3), torch.Generator().manual_seed(0))
    together = {tuple((row[0] == row[0, 0]).tolist()) for row in mask_BTC}
    assert len(together) > 10


def test_a_block_of_one_pair_is_the_mask_of_pairs():
    blocks = block_mask(3, 35, 12, 0.4, (1, 1), torch.Generator().manual_seed(5))
    assert torch.equal(blocks, random_mask(3, 35, 12, 0.4, torch.Generator().manual_seed(5)))
