"""H̄, h_rhythm (eq. rhythm-pool), and beats pooled from H̄."""

import torch

from marecg.nn.pooling import RhythmPool, lead_mean
from marecg.nn.text import pool_beats


def pool() -> RhythmPool:
    torch.manual_seed(0)
    rhythm_pool = RhythmPool(width=6, queries=3, eta=0.1)
    with torch.no_grad():
        rhythm_pool.query.normal_()
        rhythm_pool.lead_score.weight.normal_()
    return rhythm_pool


def test_the_lead_mean_keeps_time_and_averages_leads():
    h_BTCD = torch.arange(12.0).view(1, 2, 3, 2)
    assert lead_mean(h_BTCD).tolist() == [[[2, 3], [8, 9]]]


def test_the_rhythm_pool_is_what_its_equation_says():
    rhythm_pool = pool()
    h_BTCD = torch.randn(2, 5, 4, 6)
    pooled = rhythm_pool(h_BTCD, torch.ones(2, 5, dtype=torch.bool))
    for batch in range(2):
        answers = []
        for query in rhythm_pool.query:
            leads = h_BTCD[batch].unbind(1)
            summary_CD = torch.stack([(h_TD @ query / 6**0.5).softmax(0) @ h_TD for h_TD in leads])
            answers.append((summary_CD @ rhythm_pool.lead_score.weight.squeeze(0)).softmax(0) @ summary_CD)
        expected = rhythm_pool.aggregate(torch.cat(answers)) + 0.1 * h_BTCD[batch].mean((0, 1))
        torch.testing.assert_close(pooled[batch], expected)


def test_the_weights_of_each_query_are_those_with_which_the_pool_reads_the_tokens():
    rhythm_pool, h_BTCD = pool(), torch.randn(2, 5, 4, 6)
    real_BT = torch.tensor([[True] * 5, [True, True, True, False, False]])
    weight_BTCQ = rhythm_pool.weights(h_BTCD, real_BT)
    assert (weight_BTCQ >= 0).all()
    assert not weight_BTCQ[1, 3:].any()
    torch.testing.assert_close(weight_BTCQ.sum((1, 2)), torch.ones(2, 3))
    answers_BQD = torch.einsum("btcq,btcd->bqd", weight_BTCQ, h_BTCD)
    mean_BD = torch.stack([h_BTCD[0].mean((0, 1)), h_BTCD[1, :3].mean((0, 1))])
    expected = rhythm_pool.aggregate(answers_BQD.flatten(1)) + 0.1 * mean_BD
    torch.testing.assert_close(rhythm_pool(h_BTCD, real_BT), expected)
    assert rhythm_pool(h_BTCD, torch.zeros_like(real_BT)).isfinite().all(), "without any full patch too"


def test_a_pool_is_trained_once_a_loss_has_moved_it():
    torch.manual_seed(0)
    rhythm_pool = RhythmPool(width=6, queries=3, eta=0.1)
    assert not rhythm_pool.trained
    optimizer = torch.optim.AdamW(rhythm_pool.parameters(), lr=1e-3)
    rhythm_pool(torch.randn(2, 5, 4, 6), torch.ones(2, 5, dtype=torch.bool)).sum().backward()
    optimizer.step()
    assert rhythm_pool.trained


def beats_of(real: int, rpeaks_BK: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of eight patches, centred at 50, 100, …, each of which says its number; so many hold no padding."""
    number_8 = torch.arange(8)[None]
    return pool_beats(number_8[..., None].float(), number_8 < real, rpeaks_BK, patch=100, stride=50, reach=60)


def test_a_beat_is_the_mean_of_the_patches_whose_centres_are_within_reach_of_its_peak():
    beats_BKD, there_BK = beats_of(8, torch.tensor([[0, 210, 330, 700, -1]]))
    # 210: centres 150, 200, 250 of patches 2, 3, 4; 330: 300 and 350 of 5 and 6; 700 is beyond the last, 400
    assert beats_BKD[0, :, 0].tolist() == [0.0, 3.0, 5.5, 0.0, 0.0]
    assert there_BK.tolist() == [[True, True, True, False, False]]


def test_patches_of_padding_belong_to_no_beat():
    beats_BKD, there_BK = beats_of(4, torch.tensor([[210, 330]]))
    assert beats_BKD[0, 0].item() == 2.5  # of patches 2, 3 and 4 the last holds padding
    assert there_BK.tolist() == [[True, False]]
