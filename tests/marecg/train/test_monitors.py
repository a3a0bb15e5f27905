"""Signs of collapse."""

import math

import pytest
import torch

from marecg.train.monitors import effective_rank, entropy


def test_collapsed_embeddings_have_rank_1_and_spread_ones_their_full_rank() -> None:
    line = torch.arange(8.0)[:, None] * torch.randn(1, 16)
    assert effective_rank(line) == pytest.approx(1, abs=1e-3)
    assert effective_rank(torch.cat([torch.eye(8), -torch.eye(8)])) == pytest.approx(8, rel=1e-4)
    assert effective_rank(torch.ones(8, 16)) == pytest.approx(1, abs=1e-3)
    rounding = 1e-6 * torch.randn(8, 16, generator=torch.Generator().manual_seed(0))
    assert effective_rank(torch.ones(8, 16) + rounding) == 1


def test_an_undecided_q_has_entropy_log_n_and_a_certain_one_none() -> None:
    assert entropy(torch.zeros(3, 40)) == pytest.approx(math.log(40))
    assert entropy(torch.eye(4) * 1000) == pytest.approx(0)
