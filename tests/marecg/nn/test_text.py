"""What MPCT's text meets: beats pooled from H̄."""

import torch

from marecg.nn.text import pool_beats

PATCH, STRIDE, REACH = 100, 50, 60
"""The centres of the patches stand at 50, 100, 150, …"""


def numbered(patches: int) -> torch.Tensor:
    """H̄ of one record, in which every patch says its number."""
    return torch.arange(float(patches))[None, :, None]


def test_a_beat_is_the_mean_of_the_patches_whose_centres_are_within_reach_of_its_peak():
    everything = torch.ones(1, 8, dtype=torch.bool)
    beats_BKD, there_BK = pool_beats(
        numbered(8), everything, torch.tensor([[0, 210, 330, 700, -1]]), PATCH, STRIDE, REACH
    )
    # 210: centres 150, 200, 250 of patches 2, 3, 4; 330: 300 and 350 of 5 and 6; 700 is beyond the last, 400
    assert beats_BKD[0, :, 0].tolist() == [0.0, 3.0, 5.5, 0.0, 0.0]
    assert there_BK.tolist() == [[True, True, True, False, False]]


def test_patches_of_padding_belong_to_no_beat():
    real_BT = torch.arange(8)[None] < 4
    beats_BKD, there_BK = pool_beats(numbered(8), real_BT, torch.tensor([[210, 330]]), PATCH, STRIDE, REACH)
    assert beats_BKD[0, 0].item() == 2.5  # of patches 2, 3 and 4 the last holds padding
    assert there_BK.tolist() == [[True, False]]
