"""L_recon and L_mask."""

import torch

from marecg.objectives.ar import ar_losses


def test_the_errors_are_means_over_what_is_masked_or_trailing_and_real():
    generator = torch.Generator().manual_seed(0)
    predicted, target = torch.randn(2, 2, 7, 3, 4, generator=generator)
    masked = torch.rand(2, 5, 3, generator=generator) < 0.5
    real = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    recon, mask = [], []
    for batch in range(2):
        for place in range(7):
            for lead in range(3):
                error = float(((predicted - target)[batch, place, lead] ** 2).mean())
                if real[batch, place] and place >= 5:
                    recon.append(error)
                if real[batch, place] and place < 5 and masked[batch, place, lead]:
                    mask.append(error)
    losses = ar_losses(predicted, target, masked, real)
    torch.testing.assert_close(losses["recon"], torch.tensor(sum(recon) / len(recon)))
    torch.testing.assert_close(losses["mask"], torch.tensor(sum(mask) / len(mask)))


def test_with_nothing_to_predict_the_errors_are_zero():
    nothing, real = torch.zeros(1, 2, 1, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.bool)
    losses = ar_losses(torch.ones(1, 3, 1, 2), torch.zeros(1, 3, 1, 2), nothing, real)
    assert losses["recon"] == losses["mask"] == 0
