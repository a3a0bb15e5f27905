"""L_recon and L_mask, latent prediction, and NT-Xent."""

import torch
from torch.nn.functional import layer_norm, normalize

from marecg.objectives.ar import ar_losses
from marecg.objectives.contrast import nt_xent
from marecg.objectives.jepa import jepa_loss


def test_the_errors_are_means_over_what_is_masked_or_trailing_and_real():
    generator = torch.Generator().manual_seed(0)
    predicted, target = torch.randn(2, 2, 7, 3, 4, generator=generator)
    masked = torch.rand(2, 5, 3, generator=generator) < 0.5
    real = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    error_BSC = (predicted - target).square().mean(-1)
    losses = ar_losses(predicted, target, masked, real[..., None].expand(2, 7, 3))
    torch.testing.assert_close(losses["recon"], error_BSC[:, 5:][real[:, 5:]].mean())
    torch.testing.assert_close(losses["mask"], error_BSC[:, :5][masked & real[:, :5, None]].mean())


def test_with_nothing_to_predict_the_errors_are_zero():
    nothing, real = torch.zeros(1, 2, 1, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool)
    losses = ar_losses(torch.ones(1, 3, 1, 2), torch.zeros(1, 3, 1, 2), nothing, real[..., None])
    assert losses["recon"] == losses["mask"] == 0


def test_the_loss_is_smooth_l1_by_hand():
    target = torch.tensor([[[[1.0, -1.0]]]])  # LayerNorm leaves it as it is
    predicted = torch.tensor([[[[1.5, 2.0]]]])  # errors 0.5 and 3: 0.5²/2 and 3 − 1/2
    loss = jepa_loss(predicted, target, torch.ones(1, 1, 1, dtype=torch.bool))
    torch.testing.assert_close(loss, torch.tensor((0.125 + 2.5) / 2), rtol=1e-4, atol=0)


def test_only_masked_positions_are_asked_for():
    target, predicted = torch.randn(2, 1, 3, 2, 4)
    masked = torch.tensor([[[True, False], [False, False], [False, True]]])
    changed = predicted.clone()
    changed[~masked] += 100
    assert torch.equal(jepa_loss(predicted, target, masked), jepa_loss(changed, target, masked))


def test_the_target_is_layer_normalised_and_takes_no_gradient():
    target = (torch.randn(1, 3, 2, 4) * 7 + 3).requires_grad_()
    predicted = layer_norm(target.detach(), (4,)).requires_grad_()
    loss = jepa_loss(predicted, target, torch.ones(1, 3, 2, dtype=torch.bool))
    loss.backward()
    assert loss == 0
    assert target.grad is None


def test_the_loss_is_what_loops_over_anchors_give():
    first, second = torch.randn(2, 3, 5)
    views = normalize(torch.cat([first, second]), dim=-1)
    weight = (views @ views.T / 0.1).exp()
    shares = [weight[i, (i + 3) % 6] / (weight[i].sum() - weight[i, i]) for i in range(6)]
    expected = -torch.stack(shares).log().mean()
    torch.testing.assert_close(nt_xent(first, second, tau=0.1), expected, rtol=1e-4, atol=1e-5)
