"""Reversible instance normalisation."""

import torch

from marecg.nn.revin import RevIN


def test_each_lead_of_each_record_has_mean_0_and_variance_1_over_its_context():
    x_BCL = torch.randn(2, 12, 300) * torch.rand(2, 12, 1) * 3 + torch.randn(2, 12, 1)
    normalised, _ = RevIN(200, eps=0.0)(x_BCL, torch.tensor([300, 300]))
    torch.testing.assert_close(normalised[..., :200].mean(-1), torch.zeros(2, 12), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        normalised[..., :200].var(-1, correction=0), torch.ones(2, 12), atol=1e-4, rtol=0
    )


def test_the_statistics_never_see_what_is_to_be_predicted():
    x_BCL = torch.randn(1, 12, 300)
    changed = x_BCL.clone()
    changed[..., 200:] = 100.0
    before, _ = RevIN(200, eps=1e-4)(x_BCL, torch.tensor([300]))
    after, _ = RevIN(200, eps=1e-4)(changed, torch.tensor([300]))
    assert torch.equal(before[..., :200], after[..., :200])


def test_padding_stays_zero_and_does_not_move_the_statistics():
    x_BCL = torch.randn(1, 12, 300) + 5
    x_BCL[..., 120:] = 0
    padded, scale = RevIN(200, eps=1e-4)(x_BCL, torch.tensor([120]))
    assert not padded[..., 120:].any()
    torch.testing.assert_close(scale.mean_BC1[..., 0], x_BCL[..., :120].mean(-1))


def test_inverting_gives_millivolts_back():
    revin = RevIN(200, eps=1e-4)
    x_BCL = torch.randn(2, 12, 300) * 2 + 1
    torch.testing.assert_close(revin.invert(*revin(x_BCL, torch.tensor([300, 300]))), x_BCL)


def test_a_constant_lead_becomes_zero_not_nan():
    normalised, _ = RevIN(200, eps=1e-4)(torch.full((1, 12, 300), 0.25), torch.tensor([300]))
    assert not normalised.any()
