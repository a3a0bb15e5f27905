"""CPC: its loss by hand and by a loop, what its context and its latents may see, and a short run."""

import math
from unittest.mock import create_autospec

import numpy as np
import pytest
import torch
from tests.marecg.train.runs import SMALLER, network, rows, run

from marecg.model.mar_ecg import MarEcg
from marecg.objectives.views import Pass
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.run import train
from marecg_research.comparators.cpc import CpcConfig, cpc_loss

ALL = torch.ones(2, 2, dtype=torch.bool)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_a_prediction_is_told_from_every_record_s_every_horizon():
    """Two records, two horizons, four latents along four axes: e² beside three times e⁰."""
    latent_BHD = torch.eye(4).view(2, 2, 4)
    expected = -math.log(math.e**2 / (math.e**2 + 3))
    assert float(cpc_loss(2 * latent_BHD, latent_BHD, ALL)) == pytest.approx(expected)
    assert float(cpc_loss(torch.zeros(2, 2, 4), latent_BHD, ALL)) == pytest.approx(math.log(4))


def test_the_loss_is_what_a_loop_over_records_and_horizons_says():
    predicted, latent = drawn(2, 3, 4, 5)
    real = torch.tensor([[True, True, True, False], [True, True, True, True], [True, False, False, False]])
    places = [(b, h) for b in range(3) for h in range(4) if real[b, h]]
    terms = []
    for place in places:
        scores = [math.exp(float(predicted[place] @ latent[other])) for other in places]
        terms.append(-math.log(scores[places.index(place)] / sum(scores)))
    assert float(cpc_loss(predicted, latent, real)) == pytest.approx(np.mean(terms))


def test_padding_is_neither_asked_for_nor_compared_with():
    predicted, latent = drawn(2, 2, 2, 3).requires_grad_()
    real = torch.tensor([[True, True], [True, False]])
    loss = cpc_loss(predicted, latent, real)
    changed = latent.detach().clone()
    changed[1, 1] += 100
    assert cpc_loss(predicted, changed, real).item() == loss.item()
    nothing = cpc_loss(predicted, latent, torch.zeros_like(real))
    nothing.backward()
    assert nothing.item() == 0


@pytest.mark.parametrize("stride", [100, 50])
def test_the_context_is_the_past_alone_and_each_latent_a_later_patch_alone(stride, batch, monkeypatch):
    """No sample is in both: with patches that overlap by half, one is left out between them."""
    spy = create_autospec(Pass.part, side_effect=Pass.part)
    monkeypatch.setattr(Pass, "part", spy)
    recipe = override(by_name("tiny-cpc"), [f"model.stride={stride}", *SMALLER])
    net = network(recipe)
    run(net, batch)
    (start, now), *latents = [call.args[1:] for call in spy.call_args_list]
    first = now - 1 + 100 // stride
    assert start == 0
    assert latents == [(patch, patch + 1) for patch in range(first, first + 12)]
    assert (now - 1) * stride + 100 <= first * stride
    assert latents[-1][1] <= recipe.model.context_patches
    assert net.objectives["cpc"].horizons == 12


@pytest.mark.parametrize(("patches", "horizons"), [(3, 2), (13, 12), (40, 12)])
def test_horizons_leave_a_past_of_one_patch_at_least(patches, horizons):
    recipe = override(by_name("tiny-cpc"), [f"model.context={patches * 100}", *SMALLER])
    assert network(recipe).objectives["cpc"].horizons == horizons
    assert CpcConfig().steps == 12


def test_a_run_of_three_steps_ends_in_a_model_whose_pool_is_trained(corpus_folder, tmp_path):
    recipe = override(
        by_name("tiny-cpc"),
        [*SMALLER, "train.batch_size=4", "train.global_batch_size=4", "train.max_steps=3"],
    )
    train(recipe, corpus_folder, tmp_path / "run")
    losses = [float(row["cpc"]) for row in rows(tmp_path / "run")]
    assert len(losses) == 3
    assert all(math.isfinite(loss) and loss > 0 for loss in losses)
    assert MarEcg.from_pretrained(tmp_path / "run").pool.trained
