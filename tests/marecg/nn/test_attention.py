"""Attention along one axis, held against loops that spell it out."""

import torch
from torch import Tensor

from marecg.nn.attention import Attention, Axis


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
    out = attention(h_BTCD)
    for batch in range(2):
        for time in range(5):
            torch.testing.assert_close(out[batch, time], attend_slowly(attention, h_BTCD[batch, time]))


def test_temporal_attention_is_attention_over_the_timesteps_of_each_lead():
    for causal in (False, True):
        attention = Attention(width=12, heads=3, axis=Axis.TIME, causal=causal)
        h_BTCD = torch.randn(2, 5, 4, 12)
        out = attention(h_BTCD)
        for batch in range(2):
            for lead in range(4):
                torch.testing.assert_close(
                    out[batch, :, lead], attend_slowly(attention, h_BTCD[batch, :, lead])
                )
