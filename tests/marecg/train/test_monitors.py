"""Signs of collapse."""

import math

import pytest
import torch
from tests.marecg.train.networks import network, run, small

from marecg.nn.collapse import effective_rank
from marecg.recipes.overrides import override
from marecg.train.network import entropy, monitor


def test_collapsed_embeddings_have_rank_1_and_spread_ones_their_full_rank():
    line = torch.arange(8.0)[:, None] * torch.randn(1, 16)
    assert effective_rank(line) == pytest.approx(1, abs=1e-3)
    assert effective_rank(torch.cat([torch.eye(8), -torch.eye(8)])) == pytest.approx(8, rel=1e-4)
    assert effective_rank(torch.ones(8, 16)) == pytest.approx(1, abs=1e-3)
    rounding = 1e-6 * torch.randn(8, 16, generator=torch.Generator().manual_seed(0))
    assert effective_rank(torch.ones(8, 16) + rounding) == 1


def test_an_undecided_q_has_entropy_log_n_and_a_certain_one_none():
    assert entropy(torch.zeros(3, 40)) == pytest.approx(math.log(40))
    assert entropy(torch.eye(4) * 1000) == pytest.approx(0)


def test_the_gradient_of_a_loss_is_that_into_every_pass_that_it_reads(batch):
    config = override(small("tiny-c3"), ["clean.supervised=true", "clean.augmentation=rhythm-safe"])
    outcome = run(network(config), batch)
    signs = monitor(outcome)
    assert signs["grad_gscl"] > 0, "the clean pass is the one that is supervised"
    masked, clean = outcome.views.masked.h_BTCD, outcome.views.clean("rhythm-safe").h_BTCD
    both = torch.autograd.grad(outcome.named["view"], (masked, clean), retain_graph=True)
    assert min(float(each.norm()) for each in both) > 0
    assert signs["grad_view"] == pytest.approx(float(torch.cat([each.flatten() for each in both]).norm()))
