"""NT-Xent."""

import math

import torch
from torch.nn.functional import normalize

from marecg.objectives.contrast import nt_xent


def test_the_loss_is_what_loops_over_anchors_give():
    first, second = torch.randn(2, 3, 5)
    views = normalize(torch.cat([first, second]), dim=-1)
    total = 0.0
    for anchor in range(6):
        others = [other for other in range(6) if other != anchor]
        weights = {other: math.exp(float(views[anchor] @ views[other]) / 0.1) for other in others}
        total -= math.log(weights[(anchor + 3) % 6] / sum(weights.values()))
    torch.testing.assert_close(nt_xent(first, second, tau=0.1), torch.tensor(total / 6), rtol=1e-4, atol=1e-5)
