"""Dropout from a generator of ours."""

import torch

from marecg.nn.dropout import dropout


def test_what_is_kept_grows_by_as_much_as_is_lost():
    found = dropout(torch.ones(10_000), 0.75, torch.Generator().manual_seed(0))
    assert set(found.tolist()) == {0.0, 4.0}
    assert abs(float(found.mean()) - 1) < 0.1


def test_without_a_rate_nothing_is_drawn():
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    x = torch.ones(3)
    assert dropout(x, 0, generator) is x
    assert torch.equal(generator.get_state(), before)
