"""The masked index set M, and dropout from a generator of ours."""

import math
from fractions import Fraction

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from marecg.nn.dropout import dropout
from marecg.nn.masking import block_mask, random_mask


@example(1, 35, 12, 0.55, 0)  # 0.55 · 12 · 35 is 231, and as floats 231.00000000000003
@given(st.integers(1, 4), st.integers(1, 20), st.integers(1, 12), st.floats(0, 0.99), st.integers(0, 2**31))
def test_every_record_has_exactly_ceil_r_c_t_masked_pairs(batch, patches, leads, ratio, seed):
    mask = random_mask(batch, patches, leads, ratio, torch.Generator().manual_seed(seed))
    assert mask.shape == (batch, patches, leads)
    assert mask.sum((1, 2)).tolist() == [math.ceil(Fraction(str(ratio)) * leads * patches)] * batch


def test_every_pair_is_masked_equally_often_and_as_the_generator_draws():
    mask, same, other = (
        random_mask(4000, 5, 4, 0.3, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert (mask.float().mean(0) - 0.3).abs().max() < 4 * math.sqrt(0.3 * 0.7 / 4000)
    assert torch.equal(mask, same)
    assert not torch.equal(mask, other)


def test_blocks_hide_whole_stretches_of_several_leads_at_once():
    mask_BTC = block_mask(64, 35, 12, 0.5, (4, 3), torch.Generator().manual_seed(0))
    stretches = mask_BTC[:, :32].reshape(64, 8, 4, 12)
    assert torch.equal(stretches.all(2), stretches.any(2))
    for pattern_TC in mask_BTC[:, ::4]:
        columns = [tuple(column.tolist()) for column in pattern_TC.T]
        assert all(columns.count(column) % 3 == 0 for column in columns)
    assert abs(mask_BTC.float().mean() - 0.5) < 0.03
    together = {tuple((row[0] == row[0, 0]).tolist()) for row in mask_BTC}
    assert len(together) > 10, "which leads go together is drawn for each record"


def test_a_block_of_one_pair_is_the_mask_of_pairs():
    blocks = block_mask(3, 35, 12, 0.4, (1, 1), torch.Generator().manual_seed(5))
    assert torch.equal(blocks, random_mask(3, 35, 12, 0.4, torch.Generator().manual_seed(5)))


def test_what_is_kept_grows_by_as_much_as_is_lost():
    values = dropout(torch.ones(10_000), 0.75, torch.Generator().manual_seed(0))
    assert set(values.tolist()) == {0.0, 4.0}
    assert abs(float(values.mean()) - 1) < 0.1


def test_without_a_rate_nothing_is_drawn():
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    x = torch.ones(3)
    assert dropout(x, 0, generator) is x
    assert torch.equal(generator.get_state(), before)
