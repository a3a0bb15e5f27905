"""The factorised encoder, its attention held against loops that spell it out, and its slow copy."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import Module

from marecg.model.config import ModelConfig
from marecg.nn.attention import Attention, Axis
from marecg.nn.ema import Ema, momentum_at
from marecg.nn.encoder import Block, Encoder


def test_the_reference_encoder_has_113_million_parameters():
    config = ModelConfig()
    with torch.device("meta"):
        encoder = Encoder(config.width, config.depth, config.heads, config.mlp_ratio)
    count = sum(parameter.numel() for parameter in encoder.parameters())
    assert abs(count / 113e6 - 1) < 0.01
    assert not encoder.checkpoint_activations, "who has the memory doesn't compute twice"


def test_a_block_attends_first_across_leads_then_along_time():
    block = Block(width=8, heads=2, mlp_ratio=2)
    h = torch.randn(1, 3, 4, 8)
    after_spatial = h + block.spatial(block.norm_spatial(h))
    after_temporal = after_spatial + block.temporal(block.norm_temporal(after_spatial))
    expected = after_temporal + block.mlp(block.norm_mlp(after_temporal))
    torch.testing.assert_close(block(h), expected)


def test_one_block_carries_every_token_to_every_other():
    block = Block(width=8, heads=2, mlp_ratio=2)
    h = torch.randn(1, 3, 4, 8, requires_grad=True)
    block(h)[0, 0, 0].sum().backward()
    assert (h.grad.abs().sum(-1) > 0).all()


def test_records_of_a_batch_do_not_see_each_other():
    encoder = Encoder(width=8, depth=2, heads=2, mlp_ratio=2)
    z = torch.randn(3, 5, 4, 8)
    torch.testing.assert_close(encoder(z)[1:2], encoder(z[1:2]))


@pytest.mark.parametrize(("leads", "parts"), [(65, [1, 1, 1]), (64, [2, 1]), (42, [3])])
def test_without_gradients_a_megabyte_of_records_at_a_time_says_the_same(leads, parts):
    encoder, sizes = Encoder(width=8, depth=1, heads=2, mlp_ratio=2), list[int]()
    encoder.norm.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    z = torch.randn(3, 256, leads, 8)
    with torch.no_grad():
        joined = encoder(z)
    torch.testing.assert_close(joined, encoder(z).detach())
    assert sizes == [*parts, 3], "with gradients all at once"
    for gradients in (True, False):
        with torch.set_grad_enabled(gradients):
            assert encoder(z[:0]).shape == (0, 256, leads, 8), "of no records it says nothing"


@pytest.mark.parametrize(("asked", "grad", "times"), [(True, True, 2), (True, False, 1), (False, True, 1)])
def test_blocks_are_computed_twice_where_it_is_asked_for_and_needed(asked, grad, times):
    encoder, computed = Encoder(width=8, depth=2, heads=2, mlp_ratio=2), list[Module]()
    for block in encoder.blocks:
        block.mlp.register_forward_pre_hook(lambda module, inputs: computed.append(module))
    encoder.checkpoint_activations = asked
    with torch.set_grad_enabled(grad):
        h = encoder(torch.randn(3, 5, 4, 8))
    if grad:
        h.sum().backward()
    assert [computed.count(block.mlp) for block in encoder.blocks] == [times, times]


def attend_slowly(attention: Attention, tokens_SD: Tensor) -> Tensor:
    """Softmax attention over one sequence, head by head and query by query."""
    query, key, value = (part(tokens_SD) for part in (attention.query, attention.key, attention.value))
    head_width = tokens_SD.shape[1] // attention.heads
    mixed = torch.empty_like(query)
    for head in range(attention.heads):
        columns = slice(head * head_width, (head + 1) * head_width)
        for place in range(len(tokens_SD)):
            seen = slice(0, place + 1) if attention.causal else slice(None)
            score = key[seen, columns] @ query[place, columns] / head_width**0.5
            mixed[place, columns] = score.softmax(0) @ value[seen, columns]
    return attention.out(mixed)


def test_spatial_attention_is_attention_over_the_leads_of_each_timestep():
    attention = Attention(width=12, heads=3, axis=Axis.LEADS)
    h_BTCD = torch.randn(2, 5, 4, 12)
    for tokens, out in zip(h_BTCD.flatten(0, 1), attention(h_BTCD).flatten(0, 1), strict=True):
        torch.testing.assert_close(out, attend_slowly(attention, tokens))


@pytest.mark.parametrize("causal", [False, True])
def test_temporal_attention_is_attention_over_the_timesteps_of_each_lead(causal):
    attention = Attention(width=12, heads=3, axis=Axis.TIME, causal=causal)
    h_BTCD = torch.randn(2, 5, 4, 12)
    leads = (each.transpose(1, 2).flatten(0, 1) for each in (h_BTCD, attention(h_BTCD)))
    for tokens, out in zip(*leads, strict=True):
        torch.testing.assert_close(out, attend_slowly(attention, tokens))


def test_the_copy_moves_by_one_minus_the_momentum():
    online = nn.Linear(2, 2)
    ema = Ema(online)
    before = ema.module.weight.clone()
    with torch.no_grad():
        online.weight.add_(1.0)
    ema.update(online, 0.9)
    torch.testing.assert_close(ema.module.weight, before + 0.1)
    assert not any(parameter.requires_grad for parameter in ema.parameters()), "no gradient"
    assert all(parameter.requires_grad for parameter in online.parameters())


def test_the_momentum_rises_along_half_a_cosine():
    """A quarter of the way (1 + cos 45°)/2 = 0.8536 of the distance to 1 is left, half way one half."""
    assert (momentum_at(0, 100, 0.996), momentum_at(100, 100, 0.996)) == (0.996, 1)
    assert momentum_at(25, 100, 0.9) == pytest.approx(1 - 0.1 * 0.8535534)
    assert momentum_at(50, 100, 0.9) == pytest.approx(0.95)
