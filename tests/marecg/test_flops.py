"""The FLOP model, held against a count of what runs."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from marecg.config import ModelConfig
from marecg.flops import block_flops_per_token, encoder_flops
from marecg.nn.encoder import Encoder
from marecg.nn.heads import MLP
from marecg.nn.prototypes import PrototypeHead


@pytest.mark.parametrize(("width", "depth", "ratio", "patches"), [(32, 1, 4, 7), (48, 2, 2, 5)])
def test_the_model_counts_what_the_encoder_computes(width: int, depth: int, ratio: int, patches: int) -> None:
    config = ModelConfig(width=width, depth=depth, heads=2, mlp_ratio=ratio)
    encoder = Encoder(width, depth, 2, ratio)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        encoder(torch.randn(3, patches, 12, width))
    attention = 3 * depth * 12 * patches * 4 * (12 + patches) * width
    linear = counter.get_total_flops() - sum(
        count for op, count in counter.get_flop_counts()["Global"].items() if "attention" in str(op)
    )
    assert linear + attention == 3 * encoder_flops(config, patches)


def test_the_formula_is_2_16_d_squared_plus_4_c_plus_t_d_and_387_gflop_at_139_patches() -> None:
    config = ModelConfig()
    assert block_flops_per_token(config, 139) == 2 * 16 * 768**2 + 4 * (12 + 139) * 768
    assert encoder_flops(config) / 1e9 == pytest.approx(387, abs=1)
    assert encoder_flops(config, 187) / 1e9 == pytest.approx(525, abs=1)


def test_the_heads_of_gscl_and_msps_cost_under_5_percent_of_the_encoder() -> None:
    config = ModelConfig()
    prototypes = PrototypeHead(torch.eye(40), 128, config.concept_width, dropout=0.1)
    heads = [MLP(config.width, 256, outputs) for outputs in (7, 12)]
    to_concepts = torch.nn.Linear(config.width, config.concept_width, bias=False)
    h_bar_BTD = torch.randn(1, config.context_patches, config.width)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        prototypes()
        to_concepts(h_bar_BTD[:, 0])
        for head in heads:
            head(h_bar_BTD)
    assert 0 < counter.get_total_flops() < 0.05 * encoder_flops(config)
