"""One forward pass: which losses a recipe has, which parameters they pull at, and what is exported."""

import pytest
import torch
from tests.marecg.train.runs import ONTOLOGY, idle, moved, network, run, small

from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.recipes import by_name
from marecg.recipes.overrides import override
from marecg.train.data import supervise
from marecg.train.network import Network

AR = {"recon", "mask"}
STACK = {"jepa", "view", "ica", "bca", "opa"}
MSPS = {"alt", "rate", "mrr", "cv", "seq", "phase"}


LOSSES = {
    "tiny-c1": AR,
    "tiny": AR | {"gscl"},
    "tiny-c2p": AR | STACK,
    "tiny-c2": AR | STACK | {"gscl"},
    "tiny-c3": AR | STACK | {"gscl"} | MSPS,
}


@pytest.mark.parametrize("name", LOSSES)
def test_each_configuration_has_exactly_its_losses_and_all_are_finite(batch, name):
    named = run(network(name), batch).losses
    assert set(named) == LOSSES[name]
    assert all(value.ndim == 0 and value.isfinite() for value in named.values())


@pytest.mark.parametrize("name", LOSSES)
def test_every_parameter_that_takes_a_gradient_gets_one_even_without_any_label(batch, name):
    nothing = {"y_BN": 0, "target_BN": 0, "rpeaks_BK": -1, "rate_B": 3, "phase_BT": -1}
    bare = {name: torch.full_like(getattr(batch.supervision, name), none) for name, none in nothing.items()}
    for some in (batch, batch._replace(supervision=batch.supervision._replace(**bare))):
        net = network(name)
        run(net, some).loss.backward()
        assert not idle(net)


def test_the_same_draws_give_the_same_losses_and_others_others(batch):
    net = network("tiny-c3")
    first, same, other = (run(net, batch, seed).losses for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["mask"], other["mask"])


def test_jepa_sends_no_gradient_into_the_ema_which_begins_to_follow_with_the_papers_momentum(batch):
    net = network("tiny-c2p")
    run(net, batch).losses["jepa"].backward()
    ema = net.objectives["jepa"].ema
    assert all(parameter.grad is None for parameter in ema.parameters())
    assert net.model.encoder.norm.weight.grad is not None
    ways = moved(net, ema, lambda: net.after_step(0, 100))
    assert ways == pytest.approx([1 - 0.996] * len(ways), abs=1e-5)


def test_a_record_of_roots_only_changes_what_reads_codes_and_nothing_else(batch):
    net = network("tiny-c3")
    y_BN, target_BN = batch.supervision.y_BN.clone(), batch.supervision.target_BN.clone()
    y_BN[0], target_BN[0] = False, 0
    bare = batch._replace(supervision=batch.supervision._replace(y_BN=y_BN, target_BN=target_BN))
    before, after = run(net, batch).losses, run(net, bare).losses
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"gscl", "ica", "bca", "opa"}


def test_whatever_trained_it_the_exported_model_is_the_same_encoder_without_heads():
    exported = [network(name).export().state_dict() for name in LOSSES]
    first, *others = ({name: tuple(value.shape) for name, value in each.items()} for each in exported)
    assert all(other == first for other in others)
    parts = {name.partition(".")[0] for name in first}
    assert parts == {"tokens", "encoder", "pool", "to_concepts", "prototypes"}


def test_each_loss_pulls_at_what_the_paper_has_it_read_and_at_nothing_else(batch):
    net = network("tiny-c3")
    outcome = run(net, batch)
    masked, second = outcome.views.masked, outcome.views.clean("rhythm-safe")
    gscl, mpct = net.objectives["gscl"], net.objectives["mpct"]
    parts = {
        "first H": masked.h_BTCD,
        "second H": second.h_BTCD,
        "pool": net.model.pool.query,
        "W_sca": net.model.to_concepts.weight,
        "E": gscl.prototypes.embedding,
        "text": mpct.text.text.weight,
    }
    pulled = {}
    for name, loss in outcome.losses.items():
        gradients = torch.autograd.grad(loss, [*parts.values()], retain_graph=True, allow_unused=True)
        pulls = zip(parts, gradients, strict=True)
        pulled[name] = {part for part, gradient in pulls if gradient is not None and gradient.any()}
    of_patches = {name: {"first H"} for name in AR | {"jepa"} | MSPS}
    assert pulled == of_patches | {
        "view": {"first H", "second H", "pool"},
        "gscl": {"first H", "pool", "W_sca", "E"},
        "ica": {"first H", "pool", "W_sca", "text"},
        "bca": {"first H", "text"},
        "opa": {"first H", "pool"},
    }


def test_the_exported_model_carries_the_prototypes_as_they_stand():
    net = network("tiny")
    exported = net.export()
    torch.testing.assert_close(exported.prototypes, net.objectives["gscl"].prototypes())
    assert exported.concept_logits(torch.randn(2, 16)).shape == (2, 40)


def test_small_teaches_the_clean_pass_and_reaches_every_parameter(corpus_folder):
    config = by_name("small")
    corpus = Corpus.open(corpus_folder)
    batch = BatchStream(corpus, supervise(config, corpus, ONTOLOGY), 6, 1, seed=0).batch(0)
    net = network(config)
    outcome = run(net, batch)
    outcome.loss.backward()
    assert not idle(net)
    assert outcome.views.supervised is outcome.views.clean("rhythm-safe")
    assert len(outcome.views._clean) == 1


def test_a_run_s_slow_encoder_averages_over_a_share_of_the_run():
    assert [by_name(name).jepa.horizon for name in ("small", "base")] == [0.05, 0.05]
    net = network(override(small("tiny-c3"), ["jepa.horizon=0.5"]))
    slow = net.objectives["jepa"]
    ways = moved(net, slow.ema, lambda: slow.after_step(net.model, 0, 8))
    assert ways == pytest.approx([0.25] * len(ways), abs=1e-5)  # 1 − m = 1 / (0.5 · 8) at the start


def test_prototypes_can_do_without_edges_while_targets_keep_them():
    config = override(by_name("tiny"), ["gscl.a_hat=identity"])
    head = Network(config, ONTOLOGY).objectives["gscl"].prototypes
    before = head()
    with torch.no_grad():
        head.embedding[7] += 1
    assert ((head() - before).abs().amax(1) > 0).nonzero().flatten().tolist() == [7]
