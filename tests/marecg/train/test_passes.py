"""What a pass sees of a record: what is masked, what pads it, and how its second view was changed."""

from typing import Any

import pytest
import torch
from tests.marecg.train.networks import network, run, small
from torch import Tensor

from marecg.base.errors import ConfigError
from marecg.ecg.augment import AUGMENTATIONS
from marecg.ecg.batch import Batch
from marecg.objectives import jepa
from marecg.objectives.gscl import Gscl
from marecg.recipes.overrides import override
from marecg.train.network import Network


def test_what_trails_the_context_reaches_neither_the_encoder_nor_the_masked_loss(batch):
    net = network(small("tiny"))
    changed = batch.d_BCL.clone()
    changed[..., 3500:] = 9000
    before, after = run(net, batch), run(net, batch._replace(d_BCL=changed))
    assert torch.equal(before.views.masked.h_BTCD, after.views.masked.h_BTCD)
    assert torch.equal(before.named["mask"], after.named["mask"])
    assert not torch.equal(before.named["recon"], after.named["recon"])


@pytest.mark.parametrize(
    ("name", "augmentation"),
    [("tiny-c2p", "unconstrained"), ("tiny-c2", "unconstrained"), ("tiny-c3", "rhythm-safe")],
)
def test_the_second_view_is_augmented_as_the_configuration_says(batch, name, augmentation, monkeypatch):
    asked: list[str] = []
    for each, augment in list(AUGMENTATIONS.items()):

        def spy(*args: Any, each: str = each, augment: Any = augment) -> Tensor:
            asked.append(each)
            return augment(*args)

        monkeypatch.setitem(AUGMENTATIONS, each, spy)
    run(network(small(name)), batch)
    assert asked == [augmentation]


def test_what_stands_in_the_padding_reaches_no_loss_and_is_asked_for_by_none(batch, monkeypatch):
    asked: list[Tensor] = []
    loss = jepa.jepa_loss

    def spy(predicted: Tensor, target: Tensor, asked_BTC: Tensor) -> Tensor:
        asked.append(asked_BTC)
        return loss(predicted, target, asked_BTC)

    monkeypatch.setattr(jepa, "jepa_loss", spy)
    short = batch._replace(n_valid_B=torch.tensor([2500, 4700, 3000, 2500]))
    noisy = short.d_BCL.clone()
    noisy[0, :, 2500:] = 900
    noisy[2, :, 3000:] = -900
    for name in ("tiny-c2", "tiny-c3"):
        net = network(small(name))
        before, after = run(net, short), run(net, short._replace(d_BCL=noisy))
        for loss_name, value in before.named.items():
            torch.testing.assert_close(value, after.named[loss_name], msg=f"{name} {loss_name}")
        real_BT = before.views.masked.real_BT
        assert asked.pop()[real_BT].any()
        assert not asked.pop()[~real_BT].any()


def spied(net: Network, batch: Batch, monkeypatch: pytest.MonkeyPatch, seeds: int = 1) -> list[Tensor]:
    """What is hidden from the encoder in each pass of a step: the masked one, then the clean ones."""
    hidden: list[Tensor] = []
    tokens = net.model.tokens.forward

    def spy(x_BTCP: Tensor, hidden_BTC: Tensor, *others: Any) -> Tensor:
        hidden.append(hidden_BTC)
        return tokens(x_BTCP, hidden_BTC, *others)

    monkeypatch.setattr(net.model.tokens, "forward", spy)
    for seed in range(seeds):
        run(net, batch, seed)
    return hidden


def test_the_lead_regulariser_hides_a_quarter_of_the_leads(batch, monkeypatch):
    hidden = spied(network("tiny-c2p"), batch, monkeypatch, seeds=20)
    shares = [hidden_BTC.all(1).float().mean() for hidden_BTC in hidden]
    assert torch.stack(shares).mean() == pytest.approx(0.25, abs=0.05)


def test_the_second_view_is_not_masked(batch, monkeypatch):
    config = override(small("tiny-c2p"), ["regulariser=null", "jepa=null"])
    masked, second = spied(network(config), batch, monkeypatch)
    padding_BTC = torch.zeros_like(second)
    ends_T = torch.arange(second.shape[1]) * config.model.stride + config.model.patch
    padding_BTC |= (ends_T > batch.n_valid_B[:, None])[..., None]
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


def test_reading_what_no_objective_says_that_it_reaches_is_an_error(batch, monkeypatch):
    monkeypatch.setattr(Gscl, "reaches", frozenset({"pool"}))
    with pytest.raises(ConfigError, match="reads to_concepts and none says that it reaches it"):
        run(network(small("tiny")), batch)


def test_each_look_is_made_once_however_many_ask(batch):
    views = run(network(small("tiny-c3")), batch).views
    assert views.masked is views.masked
    assert views.clean("rhythm-safe") is views.clean("rhythm-safe")
    assert views.clean() is not views.clean("rhythm-safe")


@pytest.mark.parametrize(("name", "number"), [("tiny-c3", None), ("tiny-simclr", 0)])
def test_the_first_look_is_the_masked_one_or_else_the_first_that_was_made(name, number, batch):
    views = run(network(name), batch).views
    assert views.first is (views.masked if number is None else list(views._clean.values())[number])
