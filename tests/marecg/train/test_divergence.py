"""Signs of collapse, steps that are not finite, and runs that have run on into nonsense."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from tests.marecg.train.runs import network, run, small
from torch.nn.modules.module import register_module_forward_hook

from marecg.corpus.prepared import Corpus
from marecg.errors import DivergedError
from marecg.model.batch import Batch
from marecg.nn.collapse import effective_rank
from marecg.recipes.overrides import override
from marecg.train.network import Network, Outcome, entropy, monitor
from marecg.train.run import train


@contextmanager
def poison(numbers: range) -> Iterator[list[torch.Tensor]]:
    """Make the masked loss NaN in these micro-batches; return what the decoder was at each of them all."""
    weights: list[torch.Tensor] = []

    def poisoned(module: torch.nn.Module, args: tuple[Batch, ...], outcome: Outcome) -> Outcome | None:
        if not isinstance(module, Network):
            return None
        weights.append(module.objectives["ar"].decoder.to_signal.weight.detach().clone())
        if args[0].number not in numbers:
            return None
        named = {**outcome.losses, "mask": outcome.losses["mask"] * torch.nan}
        return outcome._replace(loss=outcome.loss * torch.nan, losses=named)

    with register_module_forward_hook(poisoned):
        yield weights


def test_a_step_with_gradients_that_are_not_finite_is_skipped_and_counted(pretrain, tmp_path):
    with poison(range(3, 4)) as weights:
        run = pretrain(tmp_path)
    assert (run.steps, run.skipped_steps) == (6, 1)
    # micro-batches 2 and 3 are step 2: it moves nothing, step 3 goes on
    assert torch.equal(weights[4], weights[2])
    assert not torch.equal(weights[6], weights[4])
    assert all(weight.isfinite().all() for weight in weights)
    (tmp_path / "checkpoints/step-00000006.ckpt").unlink()
    assert pretrain(tmp_path).skipped_steps == 1, "a resumed run goes on counting"


def test_ten_such_steps_in_a_row_end_the_run(pretrain, corpus_folder, tmp_path):
    what = r"step 11: 10 steps in a row .* \(loss mask; records \S+"
    with poison(range(2, 1000)), pytest.raises(DivergedError, match=what) as error:
        pretrain(tmp_path, "train.max_steps=20")
    assert any(record in str(error.value) for record in Corpus.open(corpus_folder).ids)


def test_a_run_whose_records_look_alike_is_said_to_have_collapsed(pretrain, tmp_path, monkeypatch, caplog):
    for name, rank in (("sound", 2.5), ("fallen", 1.5)):
        monkeypatch.setattr("marecg.train.lightning_module.monitor", lambda _, rank=rank: {"rank": rank})
        pretrain(tmp_path / name, "train.max_steps=1")
    [warning] = [message for message in caplog.messages if "collapsed" in message]
    assert "fallen: the run has collapsed: h_rhythm has an effective rank of 1.5, below 2" in warning


def test_a_run_that_ends_with_gradients_that_are_not_finite_has_diverged(corpus_folder, micro, tmp_path):
    settings = ["train.lr=1e9", "train.warmup_epochs=0", "train.monitor_every=1"]
    for _ in range(2):  # and it stays so when it is looked at again
        with pytest.raises(DivergedError, match=r"step 6: .* non-finite gradients"):
            train(override(micro, settings), corpus_folder, tmp_path)
    assert not (tmp_path / "model").exists()
    assert "nan" in (tmp_path / "monitors.csv").read_text()


def test_collapsed_embeddings_have_rank_1_and_spread_ones_their_full_rank():
    line = torch.arange(8.0)[:, None] * torch.randn(1, 16)
    assert effective_rank(line) == pytest.approx(1, abs=1e-3)
    assert effective_rank(torch.cat([torch.eye(8), -torch.eye(8)])) == pytest.approx(8, rel=1e-4)
    assert effective_rank(torch.ones(8, 16)) == pytest.approx(1, abs=1e-3)
    rounding = 1e-6 * torch.randn(8, 16, generator=torch.Generator().manual_seed(0))
    assert effective_rank(torch.ones(8, 16) + rounding) == 1


def test_an_undecided_q_has_entropy_log_n_and_a_certain_one_none():
    assert entropy(torch.zeros(3, 40)) == pytest.approx(math.log(40))
    assert entropy(torch.eye(4) * 1000) == pytest.approx(0)


def test_the_gradient_of_a_loss_is_that_into_every_pass_that_it_reads(batch):
    config = override(small("tiny-c3"), ["clean.supervised=true", "clean.augmentation=rhythm-safe"])
    outcome = run(network(config), batch)
    signs = monitor(outcome)
    assert signs["grad_gscl"] > 0, "the clean pass is the one that is supervised"
    masked, clean = outcome.views.masked.h_BTCD, outcome.views.clean("rhythm-safe").h_BTCD
    both = torch.autograd.grad(outcome.losses["view"], (masked, clean), retain_graph=True)
    assert min(float(each.norm()) for each in both) > 0
    assert signs["grad_view"] == pytest.approx(float(torch.cat([each.flatten() for each in both]).norm()))
