"""What the tokens know of a lead's height."""

import torch

from marecg.nn.amplitude import Amplitude
from marecg.nn.revin import RevIN, Scale
from marecg.nn.tokens import Tokens


def scale_of(std: list[float]) -> Scale:
    return Scale(torch.zeros(1, len(std), 1), torch.tensor(std)[None, :, None])


def test_a_lead_twice_as_tall_has_other_tokens_only_with_the_embedding():
    x_BCL = torch.randn(1, 3, 60)
    n_valid_B, revin = torch.tensor([60]), RevIN(60, 1e-8)
    for amplitude in (False, True):
        torch.manual_seed(0)
        tokens = Tokens(3, 6, 10, 8, amplitude=amplitude)
        said = []
        for height in (1.0, 2.0):
            normal_BCL, scale = revin(x_BCL * height, n_valid_B)
            said.append(tokens(normal_BCL.unfold(-1, 10, 10).transpose(1, 2), None, scale))
        assert torch.allclose(*said, atol=1e-5) is not amplitude


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
