"""What a pass sees of a record: what is masked, what pads it, and how its second view was changed."""

from unittest.mock import Mock

import pytest
import torch
from tests.marecg.train.runs import assert_reaches_what_it_says, network, run, small
from torch import Tensor

from marecg.model.batch import Batch
from marecg.objectives import jepa
from marecg.objectives.augment import AUGMENTATIONS
from marecg.recipes.overrides import override
from marecg.train.network import Network


def test_what_trails_the_context_reaches_neither_the_encoder_nor_the_masked_loss(batch):
    net = network(small("tiny"))
    changed = batch.d_BCL.clone()
    changed[..., 3500:] = 9000
    before, after = run(net, batch), run(net, batch._replace(d_BCL=changed))
    assert torch.equal(before.views.masked.h_BTCD, after.views.masked.h_BTCD)
    assert torch.equal(before.losses["mask"], after.losses["mask"])
    assert not torch.equal(before.losses["recon"], after.losses["recon"])


@pytest.mark.parametrize(
    ("name", "augmentation"),
    [("tiny-c2p", "unconstrained"), ("tiny-c2", "unconstrained"), ("tiny-c3", "rhythm-safe")],
)
def test_the_second_view_is_augmented_as_the_configuration_says(batch, name, augmentation, monkeypatch):
    spies = {each: Mock(wraps=augment) for each, augment in AUGMENTATIONS.items()}
    monkeypatch.setattr("marecg.objectives.views.AUGMENTATIONS", spies)
    run(network(small(name)), batch)
    assert {each: spy.call_count for each, spy in spies.items() if spy.called} == {augmentation: 1}


def test_what_stands_in_the_padding_reaches_no_loss_and_is_asked_for_by_none(batch, monkeypatch):
    spy = Mock(wraps=jepa.jepa_loss)
    monkeypatch.setattr(jepa, "jepa_loss", spy)
    short = batch._replace(n_valid_B=torch.tensor([2500, 4700, 3000, 2500]))
    noisy = short.d_BCL.clone()
    noisy[0, :, 2500:] = 900
    noisy[2, :, 3000:] = -900
    for name in ("tiny-c2", "tiny-c3"):
        net = network(small(name))
        before, after = run(net, short), run(net, short._replace(d_BCL=noisy))
        for loss_name, value in before.losses.items():
            torch.testing.assert_close(value, after.losses[loss_name], msg=f"{name} {loss_name}")
        real_BT, (_, _, asked_BTC) = before.views.masked.real_BT, spy.call_args.args
        assert asked_BTC[real_BT].any()
        assert not asked_BTC[~real_BT].any()


def hidden_by_pass(net: Network, batch: Batch, seeds: int = 1) -> list[Tensor]:
    """What is hidden from the encoder in each pass of a step: the masked one, then the clean ones."""
    hidden: list[Tensor] = []
    net.model.tokens.register_forward_pre_hook(lambda _, given: hidden.append(given[1]))
    for seed in range(seeds):
        run(net, batch, seed)
    return hidden


def test_the_lead_regulariser_hides_a_quarter_of_the_leads(batch):
    hidden = hidden_by_pass(network("tiny-c2p"), batch, seeds=20)
    shares = [hidden_BTC.all(1).float().mean() for hidden_BTC in hidden]
    assert torch.stack(shares).mean() == pytest.approx(0.25, abs=0.05)


def test_the_second_view_is_not_masked(batch):
    config = override(small("tiny-c2p"), ["regulariser=null", "jepa=null"])
    masked, second = hidden_by_pass(network(config), batch)
    ends_T = torch.arange(second.shape[1]) * config.model.stride + config.model.patch
    padding_BTC = (ends_T > batch.n_valid_B[:, None])[..., None].expand_as(second)
    assert torch.equal(second, padding_BTC)
    assert (masked & ~padding_BTC).any(dim=(1, 2)).all()


def test_jepas_slow_encoder_sees_everything_but_padding(batch):
    net = network(small("tiny-c2p"))
    jepa = net.objectives["jepa"]
    short = batch._replace(n_valid_B=torch.full_like(batch.n_valid_B, 2050))
    seen: list[Tensor] = []
    slow = jepa.ema.module.get_submodule("0")
    slow.register_forward_pre_hook(lambda _, given: seen.append(given[1]))
    run(net, short)
    (hidden_BTC,) = seen
    assert not hidden_BTC[:, :20].any()
    assert hidden_BTC[:, 20:].all()


@pytest.mark.parametrize("name", small("tiny-c3").objectives)
def test_an_objective_reaches_the_parts_that_it_says_it_reaches(batch, name):
    recipe = small("tiny-c3")
    alone = override(recipe, [f"{each}=null" for each in recipe.objectives if each != name])
    assert_reaches_what_it_says(network(alone), batch)


def test_each_look_is_made_once_and_the_first_is_the_masked_one_or_else_the_first_that_was_made(batch):
    clean_alone = override(small("tiny"), ["ar=null", "clean.supervised=true"])
    views, unmasked = (run(network(recipe), batch).views for recipe in (small("tiny-c3"), clean_alone))
    assert views.first is views.masked is views.masked
    assert unmasked.first is next(iter(unmasked._clean.values()))
    assert views.clean("rhythm-safe") is views.clean("rhythm-safe")
    assert views.clean() is not views.clean("rhythm-safe")
