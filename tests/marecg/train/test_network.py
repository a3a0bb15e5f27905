"""One forward pass: which losses a recipe has, what reaches what."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ecg_ontology
from marecg.corpus.batches import Batch, BatchStream
from marecg.corpus.prepared import Corpus
from marecg.ecg.augment import AUGMENTATIONS
from marecg.errors import ConfigError
from marecg.nn.revin import Scale
from marecg.objectives import jepa
from marecg.objectives.gscl import Gscl
from marecg.objectives.jepa import Jepa
from marecg.objectives.mpct import Mpct
from marecg.overrides import override
from marecg.recipes import Config, by_name
from marecg.train.network import Network, Outcome

ONTOLOGY = ecg_ontology.load()
AR = {"recon", "mask"}
STACK = {"jepa", "view", "ica", "bca", "opa"}
MSPS = {"alt", "rate", "mrr", "cv", "seq", "phase"}


def small(name: str) -> Config:
    return override(by_name(name), ["model.width=16", "model.depth=1", "model.heads=2"])


def network(config: Config) -> Network:
    torch.manual_seed(0)
    return Network(config, ONTOLOGY)


@pytest.fixture(scope="module")
def batch(corpus_folder: Path) -> Batch:
    corpus = Corpus.open(corpus_folder)
    return BatchStream(corpus, small("tiny-c3").supervision(corpus, ONTOLOGY), 4, 1, seed=0).batch(0)


def run(net: Network, batch: Batch, seed: int = 0) -> Outcome:
    outcome = net(batch, torch.Generator().manual_seed(seed), lambda z: z, epoch=50)
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tiny-c1", AR),
        ("tiny", AR | {"gscl"}),
        ("tiny-c2p", AR | STACK),
        ("tiny-c2", AR | STACK | {"gscl"}),
        ("tiny-c3", AR | STACK | {"gscl"} | MSPS),
    ],
)
def test_each_configuration_has_exactly_its_losses_and_all_are_finite(
    batch: Batch, name: str, expected: set[str]
) -> None:
    named = run(network(small(name)), batch).named
    assert set(named) == expected
    assert all(value.ndim == 0 and value.isfinite() for value in named.values())


@pytest.mark.parametrize("name", ["tiny-c1", "tiny", "tiny-c2p", "tiny-c2", "tiny-c3"])
def test_every_parameter_that_takes_a_gradient_gets_one_even_without_any_label(
    batch: Batch, name: str
) -> None:
    config = small(name)
    bare = batch.supervision._replace(
        y_BN=torch.zeros_like(batch.supervision.y_BN),
        target_BN=torch.zeros_like(batch.supervision.target_BN),
        rpeaks_BK=torch.full_like(batch.supervision.rpeaks_BK, -1),
        rate_B=torch.full_like(batch.supervision.rate_B, 3),
        phase_BT=torch.full_like(batch.supervision.phase_BT, -1),
    )
    for some in (batch, batch._replace(supervision=bare)):
        net = network(config)
        run(net, some).loss.backward()
        without = [n for n, p in net.named_parameters() if p.requires_grad and p.grad is None]
        assert not without


def test_what_trails_the_context_reaches_neither_the_encoder_nor_the_masked_loss(batch: Batch) -> None:
    net = network(small("tiny"))
    changed = batch.d_BCL.clone()
    changed[..., 3500:] = 9000
    before, after = run(net, batch), run(net, batch._replace(d_BCL=changed))
    assert torch.equal(before.views.masked.h_BTCD, after.views.masked.h_BTCD)
    assert torch.equal(before.named["mask"], after.named["mask"])
    assert not torch.equal(before.named["recon"], after.named["recon"])


def test_the_same_draws_give_the_same_losses_and_others_others(batch: Batch) -> None:
    net = network(small("tiny-c3"))
    first, same, other = (run(net, batch, seed).named for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["mask"], other["mask"])


def test_jepa_sends_no_gradient_into_the_ema(batch: Batch) -> None:
    net = network(small("tiny-c2p"))
    run(net, batch).named["jepa"].backward()
    objective = net.objectives["jepa"]
    assert isinstance(objective, Jepa)
    assert all(parameter.grad is None for parameter in objective.ema.parameters())
    assert net.model.encoder.norm.weight.grad is not None


def followed(net: Network, step: Callable[[], None]) -> list[float]:
    """How far each weight of the slow encoder moves in a step before which the model's have moved by 1."""
    slow = net.objectives["jepa"]
    assert isinstance(slow, Jepa)
    before = [parameter.clone() for parameter in slow.ema.parameters()]
    with torch.no_grad():
        for parameter in net.model.parameters():
            parameter.add_(1.0)
    step()
    return [float((now - then).mean()) for now, then in zip(slow.ema.parameters(), before, strict=True)]


def test_the_slow_encoder_begins_to_follow_with_the_papers_momentum(batch: Batch) -> None:
    net = network(small("tiny-c2p"))
    moved = followed(net, lambda: net.after_step(0, 100))
    assert moved == pytest.approx([1 - 0.996] * len(moved), abs=1e-5)


def test_a_record_of_roots_only_changes_what_reads_codes_and_nothing_else(batch: Batch) -> None:
    net = network(small("tiny-c3"))
    y_BN, target_BN = batch.supervision.y_BN.clone(), batch.supervision.target_BN.clone()
    y_BN[0], target_BN[0] = False, 0
    bare = batch._replace(supervision=batch.supervision._replace(y_BN=y_BN, target_BN=target_BN))
    before, after = run(net, batch).named, run(net, bare).named
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"gscl", "ica", "bca", "opa"}


def test_whatever_trained_it_the_exported_model_is_the_same_encoder_without_heads() -> None:
    names = ("tiny-c1", "tiny-c2p", "tiny-c2", "tiny-c3")
    first, *others = [network(small(name)).export().state_dict() for name in names]
    shapes = {name: tuple(value.shape) for name, value in first.items()}
    assert all({name: tuple(value.shape) for name, value in other.items()} == shapes for other in others)
    assert {name.partition(".")[0] for name in shapes} == {
        "tokens",
        "encoder",
        "pool",
        "to_concepts",
        "prototypes",
    }


def test_each_loss_pulls_at_what_the_paper_has_it_read_and_at_nothing_else(batch: Batch) -> None:
    net = network(small("tiny-c3"))
    outcome = run(net, batch)
    masked, second = outcome.views.masked, outcome.views.clean("rhythm-safe")
    gscl, mpct = net.objectives["gscl"], net.objectives["mpct"]
    assert isinstance(gscl, Gscl)
    assert isinstance(mpct, Mpct)
    parts = {
        "first H": masked.h_BTCD,
        "second H": second.h_BTCD,
        "pool": net.model.pool.query,
        "W_sca": net.model.to_concepts.weight,
        "E": gscl.prototypes.embedding,
        "text": mpct.text.text.weight,
    }
    pulled = {
        name: {
            part
            for part, gradient in zip(
                parts,
                torch.autograd.grad(loss, [*parts.values()], retain_graph=True, allow_unused=True),
                strict=True,
            )
            if gradient is not None and gradient.any()
        }
        for name, loss in outcome.named.items()
    }
    of_patches = {name: {"first H"} for name in AR | {"jepa"} | MSPS}
    assert pulled == of_patches | {
        "view": {"first H", "second H", "pool"},
        "gscl": {"first H", "pool", "W_sca", "E"},
        "ica": {"first H", "pool", "W_sca", "text"},
        "bca": {"first H", "text"},
        "opa": {"first H", "pool"},
    }


@pytest.mark.parametrize(
    ("name", "augmentation"),
    [("tiny-c2p", "unconstrained"), ("tiny-c2", "unconstrained"), ("tiny-c3", "rhythm-safe")],
)
def test_the_second_view_is_augmented_as_the_configuration_says(
    batch: Batch, name: str, augmentation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for each, augment in list(AUGMENTATIONS.items()):

        def spy(*args: Any, each: str = each, augment: Any = augment) -> Tensor:
            asked.append(each)
            return augment(*args)  # type: ignore[no-any-return]

        monkeypatch.setitem(AUGMENTATIONS, each, spy)
    run(network(small(name)), batch)
    assert asked == [augmentation]


def test_what_stands_in_the_padding_reaches_no_loss_and_is_asked_for_by_none(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_lead_regulariser_hides_a_quarter_of_the_leads(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(small("tiny-c2p"))
    shares: list[Tensor] = []
    tokens = net.model.tokens.forward

    def spy(x_BTCP: Tensor, hidden_BTC: Tensor, scale: Scale) -> Tensor:
        shares.append(hidden_BTC.all(1).float().mean())
        return tokens(x_BTCP, hidden_BTC, scale)

    monkeypatch.setattr(net.model.tokens, "forward", spy)
    for seed in range(20):
        run(net, batch, seed)
    assert torch.stack(shares).mean() == pytest.approx(0.25, abs=0.05)


def test_the_exported_model_carries_the_prototypes_as_they_stand() -> None:
    net = network(small("tiny"))
    exported = net.export()
    gscl = net.objectives["gscl"]
    assert isinstance(gscl, Gscl)
    torch.testing.assert_close(exported.prototypes, gscl.prototypes())
    assert exported.concept_logits(torch.randn(2, 16)).shape == (2, 40)


def test_small_teaches_the_clean_pass_and_reaches_every_parameter(corpus_folder: Path) -> None:
    config = by_name("small")
    corpus = Corpus.open(corpus_folder)
    batch = BatchStream(corpus, config.supervision(corpus, ONTOLOGY), 6, 1, seed=0).batch(0)
    net = network(config)
    outcome = run(net, batch)
    outcome.loss.backward()
    assert not [n for n, p in net.named_parameters() if p.requires_grad and p.grad is None]
    assert outcome.views.supervised is outcome.views.clean("rhythm-safe")
    assert len(outcome.views._clean) == 1


@pytest.mark.parametrize("name", ["small", "base"])
def test_a_run_s_slow_encoder_averages_over_a_share_of_the_run(name: str) -> None:
    jepa = by_name(name).jepa
    assert jepa is not None
    assert jepa.horizon == 0.05
    settings = override(by_name("tiny-c3"), ["jepa.horizon=0.5", "model.width=16", "model.heads=2"])
    net = network(settings)
    slow = net.objectives["jepa"]
    assert isinstance(slow, Jepa)
    moved = followed(net, lambda: slow.after_step(net.model, 0, 8))  # 1 − m = 1 / (0.5 · 8) at the start
    assert moved == pytest.approx([0.25] * len(moved), abs=1e-5)


def spied(net: Network, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """What is hidden from the encoder in each pass of a step: the masked one, then the clean ones."""
    hidden: list[Tensor] = []
    tokens = net.model.tokens.forward

    def spy(x_BTCP: Tensor, hidden_BTC: Tensor, *others: Any) -> Tensor:
        hidden.append(hidden_BTC)
        return tokens(x_BTCP, hidden_BTC, *others)

    monkeypatch.setattr(net.model.tokens, "forward", spy)
    run(net, batch)
    return hidden


def test_the_second_view_is_not_masked(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    config = override(small("tiny-c2p"), ["regulariser=null", "jepa=null"])
    masked, second = spied(network(config), batch, monkeypatch)
    padding_BTC = torch.zeros_like(second)
    ends_T = torch.arange(second.shape[1]) * config.model.stride + config.model.patch
    padding_BTC |= (ends_T > batch.n_valid_B[:, None])[..., None]
    assert torch.equal(second, padding_BTC)
    assert (masked & ~padding_BTC).any(dim=(1, 2)).all()


def test_jepas_slow_encoder_sees_everything_but_padding(batch: Batch) -> None:
    net = network(small("tiny-c2p"))
    jepa = net.objectives["jepa"]
    assert isinstance(jepa, Jepa)
    short = batch._replace(n_valid_B=torch.full_like(batch.n_valid_B, 2050))
    seen: list[Tensor] = []
    slow = jepa.ema.module.get_submodule("0")
    slow.register_forward_pre_hook(lambda _, given: seen.append(given[1]))
    run(net, short)
    (hidden_BTC,) = seen
    assert not hidden_BTC[:, :20].any()
    assert hidden_BTC[:, 20:].all()


def test_reading_what_no_objective_says_that_it_reaches_is_an_error(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gscl, "reaches", frozenset({"pool"}))
    with pytest.raises(ConfigError, match="reads to_concepts and none says that it reaches it"):
        run(network(small("tiny")), batch)


def test_each_look_is_made_once_however_many_ask(batch: Batch) -> None:
    views = run(network(small("tiny-c3")), batch).views
    assert views.masked is views.masked
    assert views.clean("rhythm-safe") is views.clean("rhythm-safe")
    assert views.clean() is not views.clean("rhythm-safe")
