"""Latent prediction."""

import torch
from torch.nn.functional import layer_norm

from marecg.objectives.jepa import jepa_loss


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
