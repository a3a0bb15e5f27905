"""Contrasts under autocast: they are those of float32, whatever precision their inputs come in."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from marecg.nn.concepts import concept_logits
from marecg.objectives.contrast import info_nce, nt_xent
from marecg.objectives.mpct import beat_concept_loss, instance_concept_loss, ontology_prototype_loss

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
}


def drawn(shapes: list[tuple[int, ...]], dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_contrast_under_autocast_is_that_of_float32_to_the_bit(name, dtype):
    assert_as_in_float32(*CONTRASTS[name], dtype)


def assert_as_in_float32(
    contrast: Callable[..., Tensor], shapes: list[tuple[int, ...]], dtype: torch.dtype
) -> None:
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


def test_what_is_no_tensor_goes_through_as_it_is():
    one, two = drawn([(6, 32), (6, 32)], torch.float32)
    assert torch.equal(nt_xent(one, two, tau=TAU), nt_xent(first_BK=one, second_BK=two, tau=TAU))
