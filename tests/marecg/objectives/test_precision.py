"""Contrasts under autocast: they are those of float32, whatever precision their inputs come in."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from marecg.base.config import ModelConfig
from marecg.nn.concepts import concept_logits
from marecg.objectives.contrast import info_nce, nt_xent
from marecg.objectives.mpct import beat_concept_loss, instance_concept_loss, ontology_prototype_loss
from marecg_research.comparators.clocs import clocs_loss
from marecg_research.comparators.cpc import cpc_loss
from marecg_research.comparators.crt import discrimination_loss
from marecg_research.comparators.momentum import DinoConfig, _Head, dino_loss, moco_loss
from marecg_research.comparators.tstcc import temporal_loss
from marecg_research.comparators.two_views import barlow_loss

TAU = 0.07
ACTIVE_BV = torch.eye(6).bool()
CONTRASTS: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "gscl": (lambda h, p: concept_logits(h, p, TAU), [(6, 32), (40, 32)]),
    "view": (lambda one, two: nt_xent(one, two, TAU), [(6, 32), (6, 32)]),
    "info_nce": (lambda one, two: info_nce(one, two, TAU), [(6, 32), (6, 32)]),
    "ica": (lambda h, text: instance_concept_loss(h, text, ACTIVE_BV, TAU), [(6, 32), (6, 32)]),
    "bca": (
        lambda beats, text: beat_concept_loss(beats, torch.ones(6, 3).bool(), text, ACTIVE_BV, TAU),
        [(6, 3, 32), (6, 32)],
    ),
    "opa": (lambda h, p: ontology_prototype_loss(h, p, torch.eye(6), TAU), [(6, 32), (6, 32)]),
    "clocs": (lambda one, two: clocs_loss(one, two, TAU), [(6, 32), (6, 32)]),
    "cpc": (lambda one, two: cpc_loss(one, two, torch.ones(6, 3).bool()), [(6, 3, 32), (6, 3, 32)]),
    "moco": (lambda one, two: moco_loss(one, two, TAU), [(6, 32), (6, 32)]),
    "tstcc": (temporal_loss, [(6, 3, 32), (6, 3, 32)]),
    "dino": (lambda one, two: dino_loss(one, two, TAU, TAU / 2), [(6, 32), (6, 32)]),
    "barlow": (lambda one, two: barlow_loss(one, two, 0.01), [(6, 32), (6, 32)]),
    "crt": (discrimination_loss, [(6, 32)]),
}


def drawn(shapes: list[tuple[int, ...]], dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_contrast_under_autocast_is_that_of_float32_to_the_bit(name, dtype):
    contrast, shapes = CONTRASTS[name]
    inputs = drawn(shapes, dtype)
    expected = contrast(*(each.float() for each in inputs))
    inputs[0].requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        result = contrast(*inputs)
    assert result.dtype == torch.float32
    assert torch.equal(result, expected)
    result.sum().backward()
    assert inputs[0].grad.any(), "the gradient reaches what came in half precision"
    assert inputs[0].grad.isfinite().all()


def test_dino_s_logits_are_the_cosines_of_float32():
    head = _Head(ModelConfig().width, DinoConfig())
    h_BD = torch.randn(4, ModelConfig().width)
    with torch.autocast("cpu", torch.bfloat16):
        logits, half = head(h_BD), head.bottleneck(h_BD)
    expected = normalize(half.float(), dim=-1) @ normalize(head.prototypes, dim=-1).T
    torch.testing.assert_close(logits, expected)


def test_what_is_no_tensor_goes_through_as_it_is():
    one, two = drawn([(6, 32), (6, 32)], torch.float32)
    assert torch.equal(nt_xent(one, two, tau=TAU), nt_xent(first_BK=one, second_BK=two, tau=TAU))
