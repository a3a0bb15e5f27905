"""eq. patch-token: patches, embeddings, the mask token, and what tokens know of a lead's height."""

import numpy as np
import pytest
import torch

from marecg.nn.amplitude import Amplitude
from marecg.nn.revin import RevIN, Scale
from marecg.nn.tokens import Tokens, full_patches, patchify


@pytest.mark.parametrize(("samples", "patches"), [(4700, 187), (3500, 139), (50, 1), (74, 1), (75, 2)])
def test_the_sequence_length_is_the_sliding_window_count(samples, patches):
    assert patchify(torch.zeros(1, 12, samples), 50, 25).shape == (1, patches, 12, 50)


def test_patch_i_of_lead_c_begins_i_strides_into_that_lead():
    x_BCL = torch.arange(2 * 3 * 20.0).view(2, 3, 20)
    x_BTCP = patchify(x_BCL, 6, 4)
    assert torch.equal(x_BTCP[1, 2, 0], x_BCL[1, 0, 8:14])


def test_a_token_is_its_projected_patch_plus_its_leads_and_its_positions_embedding():
    tokens = Tokens(leads=3, positions=7, patch=6, width=5)
    x_BTCP = torch.randn(2, 4, 3, 6)
    z_BTCD = tokens(x_BTCP)
    for batch, time, lead in np.ndindex(2, 4, 3):
        place = tokens.lead[lead] + tokens.position[time]
        expected = tokens.project.weight @ x_BTCP[batch, time, lead] + place
        torch.testing.assert_close(z_BTCD[batch, time, lead], expected)


def test_embeddings_begin_small():
    tokens = Tokens(leads=12, positions=139, patch=50, width=64)
    for embedding in (tokens.lead, tokens.position, tokens.mask):
        assert embedding.std().item() == pytest.approx(0.02, rel=0.3)


def test_a_hidden_pair_says_nothing_of_its_samples_but_where_it_stands():
    tokens = Tokens(leads=3, positions=7, patch=6, width=5)
    hidden_BTC = torch.zeros(1, 4, 3, dtype=torch.bool)
    hidden_BTC[0, 2, 1] = True
    z_BTCD = tokens(torch.randn(1, 4, 3, 6), hidden_BTC)
    torch.testing.assert_close(z_BTCD[0, 2, 1], tokens.mask + tokens.lead[1] + tokens.position[2])


def test_a_patch_is_full_when_its_last_sample_is_not_padding():
    full_BT = full_patches(torch.tensor([4700, 100, 99, 49]), 4, 50, 25)
    assert full_BT.sum(1).tolist() == [4, 3, 2, 0]
    assert torch.equal(full_BT, full_BT.cummin(1).values)


def scale_of(std: list[float]) -> Scale:
    return Scale(torch.zeros(1, len(std), 1), torch.tensor(std)[None, :, None])


def test_a_lead_twice_as_tall_has_other_tokens_only_with_the_embedding():
    x_BCL = torch.randn(1, 3, 60)
    n_valid_B, revin = torch.tensor([60]), RevIN(60, 1e-8)
    for amplitude in (False, True):
        torch.manual_seed(0)
        tokens = Tokens(3, 6, 10, 8, amplitude=amplitude)
        z_BTCD = []
        for height in (1.0, 2.0):
            normal_BCL, scale = revin(x_BCL * height, n_valid_B)
            z_BTCD.append(tokens(normal_BCL.unfold(-1, 10, 10).transpose(1, 2), None, scale))
        assert torch.allclose(*z_BTCD, atol=1e-5) is not amplitude


def test_each_lead_carries_its_own_scale_and_no_others():
    amplitude = Amplitude(8)
    one, other = amplitude(scale_of([0.1, 0.2])), amplitude(scale_of([0.1, 0.9]))
    assert torch.equal(one[:, 0], other[:, 0])
    assert not torch.allclose(one[:, 1], other[:, 1])


def test_a_lead_that_is_hidden_whole_has_none_and_one_that_is_hidden_in_part_keeps_it():
    hidden_BTC = torch.tensor([[[True, True], [True, False]]])
    embedding_BCD = Amplitude(8)(scale_of([0.1, 0.1]), hidden_BTC)
    assert not embedding_BCD[0, 0].any()
    assert embedding_BCD[0, 1].any()
