"""The FLOP model, held against a count of what runs."""

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_map_only
from torch.utils.flop_counter import FlopCounterMode

import ecg_ontology
from benchmarks.batches import noise_batch
from marecg.model.config import ModelConfig
from marecg.model.flops import block_flops_per_token, encoder_flops
from marecg.nn.encoder import Encoder
from marecg.nn.heads import MLP
from marecg.nn.prototypes import PrototypeHead
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.network import Network


@pytest.mark.parametrize(("width", "depth", "ratio", "patches"), [(32, 1, 4, 7), (48, 2, 2, 5)])
def test_the_model_counts_what_the_encoder_computes(width, depth, ratio, patches):
    config = ModelConfig(width=width, depth=depth, heads=2, mlp_ratio=ratio)
    encoder = Encoder(width, depth, 2, ratio)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        encoder(torch.randn(3, patches, 12, width))
    attention = 3 * depth * 12 * patches * 4 * (12 + patches) * width
    counts = counter.get_flop_counts()["Global"]
    linear = sum(count for operation, count in counts.items() if "attention" not in str(operation))
    assert linear + attention == 3 * encoder_flops(config, patches)


def test_the_formula_is_2_16_d_squared_plus_4_c_plus_t_d_and_387_gflop_at_139_patches():
    config = ModelConfig()
    assert block_flops_per_token(config, 139) == 2 * 16 * 768**2 + 4 * (12 + 139) * 768
    assert encoder_flops(config) / 1e9 == pytest.approx(387, abs=1)
    assert encoder_flops(config, 187) / 1e9 == pytest.approx(525, abs=1)


def test_the_heads_of_gscl_and_msps_cost_under_5_percent_of_the_encoder():
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


@pytest.mark.parametrize(
    "name",
    ["c1", *(pytest.param(name, marks=pytest.mark.slow) for name in ("c3", "base", "base-other-view"))],
)
def test_a_steps_flops_are_what_torch_counts_but_for_heads_and_thin_maps(name):
    assert_counted(name)


def assert_counted(name: str) -> None:
    ontology = ecg_ontology.load()
    config = by_name(name.removesuffix("-other-view"))
    if name.endswith("view"):  # the view contrast and the supervision each have a pass of their own
        config = override(config, ["clean.augmentation=null"])
    network = Network(config, ontology)
    batch = tree_map_only(Tensor, lambda value: value.to("meta"), noise_batch(2, ontology, config))
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):
        outcome = network.to("meta")(batch, torch.Generator(), lambda z_BK: z_BK, epoch=50)
        outcome.loss.backward()
    assert counter.get_total_flops() == pytest.approx(2 * config.step_flops(), rel=0.01)


def test_a_step_of_c2_or_c3_costs_some_two_and_a_half_of_c1():
    c1, c2, c3 = (by_name(name).step_flops() for name in ("c1", "c2", "c3"))
    assert c2 == c3
    assert c3 / c1 == pytest.approx(2.5, rel=0.1)
