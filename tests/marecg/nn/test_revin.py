"""Reversible instance normalisation."""

import torch

from marecg.nn.revin import RevIN


def test_each_lead_of_each_record_has_mean_0_and_variance_1_over_its_context():
    x_BCL = torch.randn(2, 12, 300) * torch.rand(2, 12, 1) * 3 + torch.randn(2, 12, 1)
    normalised, _ = RevIN(200, eps=0.0)(x_BCL, torch.tensor([300, 300]))
    torch.testing.assert_close(normalised[..., :200].mean(-1), torch.zeros(2, 12), atol=1e-5, rtol=0)
    variance = normalised[..., :200].var(-1, correction=0)
    torch.testing.assert_close(variance, torch.ones(2, 12), atol=1e-4, rtol=0)
    changed = torch.cat([x_BCL[..., :200], torch.full((2, 12, 100), 100.0)], -1)
    again, _ = RevIN(200, eps=0.0)(changed, torch.tensor([300, 300]))
    assert torch.equal(again[..., :200], normalised[..., :200]), "what is to be predicted is never seen"


def test_padding_stays_zero_and_does_not_move_the_statistics():
    x_BCL = torch.randn(1, 12, 300) + 5
    x_BCL[..., 120:] = 0
    padded, scale = RevIN(200, eps=1e-4)(x_BCL, torch.tensor([120]))
    assert not padded[..., 120:].any()
    torch.testing.assert_close(scale.mean_BC1[..., 0], x_BCL[..., :120].mean(-1))


def test_inverting_gives_millivolts_back_and_a_constant_lead_becomes_zero_not_nan():
    revin, n_valid = RevIN(200, eps=1e-4), torch.tensor([300, 300])
    x_BCL = torch.randn(2, 12, 300) * 2 + 1
    torch.testing.assert_close(revin.invert(*revin(x_BCL, n_valid)), x_BCL)
    assert not revin(torch.full((2, 12, 300), 0.25), n_valid)[0].any()
