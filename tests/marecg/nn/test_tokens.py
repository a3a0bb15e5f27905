"""eq. patch-token: patches, embeddings and the mask token."""

import pytest
import torch

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
    for batch in range(2):
        for time in range(4):
            for lead in range(3):
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
