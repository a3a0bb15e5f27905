"""A run that is asked to end finishes its step, keeps what it has, and the same command goes on."""

import signal
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.strategies import SingleDeviceStrategy
from tests.cli.calls import run
from tests.marecg.train.runs import SMALLER, files

from marecg.errors import StoppedError
from marecg.train import preemption as stopping

VALUES = ["train.batch_size=2", "train.accumulate=1", "train.max_steps=6", "train.checkpoint_every=50"]
MICRO = ["--recipe", "tiny-c1", *(f"--set={value}" for value in (*SMALLER, *VALUES))]


@pytest.fixture(scope="module")
def whole(corpus_folder, tmp_path_factory):
    """A run of MICRO that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert run("train", *MICRO, "--data", corpus_folder, "--out", folder) == 0
    return folder


@pytest.mark.parametrize(
    ("number", "code"), [("SIGTERM", 143), ("SIGUSR1", 143), ("SIGXCPU", 143), ("SIGINT", 130)]
)
def test_a_signal_ends_training_after_its_step_with_a_checkpoint_and_a_word_and_the_same_command_goes_on(
    corpus_folder, whole, tmp_path, capsys, at_step, number, code
):
    command = ["train", *MICRO, "--data", corpus_folder, "--out", tmp_path / "run"]
    before = signal.getsignal(signal.Signals[number])
    at_step(3, lambda: [signal.raise_signal(signal.Signals[number]) for _ in range(2)])
    assert run(*command) == code
    assert capsys.readouterr().err.endswith(
        f"{tmp_path}/run: stopped at step 3; run the same command to continue\n"
    )
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["step-00000003.ckpt"]
    assert not (tmp_path / "run/model").exists()
    assert signal.getsignal(signal.Signals[number]) == before
    assert run(*command) == 0
    assert files(tmp_path / "run") == files(whole)


def test_a_signal_before_the_first_step_loses_nothing(pretrain, unbroken, tmp_path, monkeypatch):
    listen = stopping.Preemption.listen

    def too_early(self: stopping.Preemption) -> None:
        listen(self)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(stopping.Preemption, "listen", too_early)
    with pytest.raises(StoppedError, match="stopped at step 1; run the same command to continue"):
        pretrain(tmp_path / "run")
    monkeypatch.undo()
    pretrain(tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_signal_to_another_process_of_the_run_ends_this_one_too(pretrain, unbroken, tmp_path, monkeypatch):
    def reduce(self: Any, tensor: torch.Tensor, *args: Any, reduce_op: str = "mean") -> torch.Tensor:
        return tensor.clamp(min=signal.SIGTERM) if reduce_op == "max" else tensor

    with monkeypatch.context() as patch:
        patch.setattr(SingleDeviceStrategy, "reduce", reduce)
        with pytest.raises(
            StoppedError, match="stopped at step 1; run the same command to continue"
        ) as stopped:
            pretrain(tmp_path / "run")
    assert stopped.value.signal == signal.SIGTERM
    assert not (tmp_path / "run/model").exists()
    pretrain(tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_signal_during_the_exchange_of_signals_ends_the_run_a_step_later(pretrain, tmp_path, monkeypatch):
    exchanged = []

    def reduce(self: Any, tensor: torch.Tensor, *args: Any, reduce_op: str = "mean") -> torch.Tensor:
        if reduce_op == "max":
            exchanged.append(int(tensor))
            if len(exchanged) == 1:
                signal.raise_signal(signal.SIGTERM)
        return tensor

    monkeypatch.setattr(SingleDeviceStrategy, "reduce", reduce)
    with pytest.raises(StoppedError, match="stopped at step 2"):
        pretrain(tmp_path / "run")
    assert exchanged == [0, signal.SIGTERM]


def test_a_signal_that_is_ignored_stays_so(pretrain, unbroken, tmp_path, at_step):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        at_step(3, lambda: signal.raise_signal(signal.SIGINT))
        pretrain(tmp_path / "run")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert files(tmp_path / "run") == files(unbroken)


def test_a_signal_during_the_last_step_does_not_take_the_model_away(pretrain, unbroken, tmp_path, at_step):
    at_step(6, lambda: signal.raise_signal(signal.SIGTERM))
    pretrain(tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_who_waits_for_runs_of_other_processes_dies_of_sigterm_as_ever():
    """They hear it too; were it waited for, they would be killed before they have written a checkpoint."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with stopping.default_sigterm():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with stopping.default_sigterm():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_second_ctrl_c_counts_only_from_a_hand_that_has_waited(monkeypatch):
    """A terminal sends one to every process of a group, so a second at once may be the first once more."""
    at, raised = [100.0], []
    monkeypatch.setattr(stopping, "time", SimpleNamespace(monotonic=lambda: at[0]))
    monkeypatch.setattr(stopping.signal, "raise_signal", raised.append)
    before, asked = signal.getsignal(signal.SIGINT), stopping.Preemption()
    try:
        for moment in (100.0, 100.1, 102.0):
            at[0] = moment
            asked._note(signal.SIGINT, None)
        assert asked.signal == signal.SIGINT
        assert not raised
        at[0] = 102.1
        asked._note(signal.SIGTERM, None)
        assert not raised
        asked._note(signal.SIGINT, None)
        assert raised == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)
