"""The slow copy."""

import pytest
import torch
from torch import nn

from marecg.nn.ema import Ema, momentum_at


def test_the_copy_moves_by_one_minus_the_momentum():
    online = nn.Linear(2, 2)
    ema = Ema(online)
    before = ema.module.weight.clone()
    with torch.no_grad():
        online.weight.add_(1.0)
    ema.update(online, 0.9)
    torch.testing.assert_close(ema.module.weight, before + 0.1)
    assert not any(parameter.requires_grad for parameter in ema.parameters()), "no gradient"
    assert all(parameter.requires_grad for parameter in online.parameters())


def test_the_momentum_rises_along_half_a_cosine():
    """A quarter of the way (1 + cos 45°)/2 = 0.8536 of the distance to 1 is left, half way one half."""
    assert (momentum_at(0, 100, 0.996), momentum_at(100, 100, 0.996)) == (0.996, 1)
    assert momentum_at(25, 100, 0.9) == pytest.approx(1 - 0.1 * 0.8535534)
    assert momentum_at(50, 100, 0.9) == pytest.approx(0.95)
