"""Contrasts of comparators under autocast equal those of float32, whatever precision their inputs have."""

from collections.abc import Callable

import pytest
import torch
from tests.marecg.objectives.test_precision import TAU, assert_as_in_float32
from torch import Tensor
from torch.nn.functional import normalize

from marecg.model.config import ModelConfig
from marecg_research.comparators.clocs import clocs_loss
from marecg_research.comparators.cpc import cpc_loss
from marecg_research.comparators.crt import discrimination_loss
from marecg_research.comparators.momentum import DinoConfig, _Head, dino_loss, moco_loss
from marecg_research.comparators.tstcc import temporal_loss
from marecg_research.comparators.two_views import barlow_loss

CONTRASTS: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "clocs": (lambda one, two: clocs_loss(one, two, TAU), [(6, 32), (6, 32)]),
    "cpc": (lambda one, two: cpc_loss(one, two, torch.ones(6, 3).bool()), [(6, 3, 32), (6, 3, 32)]),
    "moco": (lambda one, two: moco_loss(one, two, TAU), [(6, 32), (6, 32)]),
    "tstcc": (temporal_loss, [(6, 3, 32), (6, 3, 32)]),
    "dino": (lambda one, two: dino_loss(one, two, TAU, TAU / 2), [(6, 32), (6, 32)]),
    "barlow": (lambda one, two: barlow_loss(one, two, 0.01), [(6, 32), (6, 32)]),
    "crt": (discrimination_loss, [(6, 32)]),
}


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_contrast_under_autocast_is_that_of_float32_to_the_bit(name, dtype):
    assert_as_in_float32(*CONTRASTS[name], dtype)


def test_dino_s_logits_are_the_cosines_of_float32():
    head = _Head(ModelConfig().width, DinoConfig())
    h_BD = torch.randn(4, ModelConfig().width)
    with torch.autocast("cpu", torch.bfloat16):
        logits, half = head(h_BD), head.bottleneck(h_BD)
    expected = normalize(half.float(), dim=-1) @ normalize(head.prototypes, dim=-1).T
    torch.testing.assert_close(logits, expected)
