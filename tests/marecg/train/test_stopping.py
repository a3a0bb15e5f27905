"""Training that is asked to stop, is started twice, or has run on into nonsense says so."""

import csv
import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning.pytorch.strategies import SingleDeviceStrategy

from marecg.corpus import index, trained_on
from marecg.corpus.prepare import prepare
from marecg.errors import CheckpointError, CorpusError, DivergedError, OutputError, StoppedError
from marecg.overrides import override
from marecg.recipes import Config
from marecg.synth import write_corpus
from marecg.train import stopping
from marecg.train.callbacks import Metrics
from marecg.train.run import train
from marecg_cli.marecg import main

MICRO = [
    "--recipe",
    "tiny-c1",
    *(
        f"--set={value}"
        for value in (
            "model.width=16",
            "model.depth=1",
            "model.heads=2",
            "train.batch_size=2",
            "train.accumulate=1",
            "train.max_steps=6",
            "train.checkpoint_every=50",
        )
    ),
]


def files(run: Path) -> dict[str, bytes]:
    """What must not depend on how often a run was stopped."""
    return {name: (run / name).read_bytes() for name in ("metrics.csv", "model/model.safetensors")}


@pytest.fixture(scope="module")
def unbroken(corpus_folder: Path, micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopping") / "unbroken"
    train(micro, corpus_folder, folder)
    return folder


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Have something happen while a step is being finished, once."""
    written = Metrics.after_step

    def arrange(step: int, happens: Callable[[], object]) -> None:
        todo = [happens]

        def after_step(self: Metrics, trainer: Any, *args: Any) -> None:
            written(self, trainer, *args)
            if trainer.global_step == step and todo:
                todo.pop()()

        monkeypatch.setattr(Metrics, "after_step", after_step)

    return arrange


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGUSR1", 143), ("SIGINT", 130)])
def test_a_signal_ends_training_after_its_step_with_a_checkpoint_and_a_word_and_the_same_command_goes_on(
    corpus_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    at_step: Any,
    number: str,
    code: int,
) -> None:
    command = ["train", *MICRO, "--data", str(corpus_folder), "--out", str(tmp_path / "run")]
    before = signal.getsignal(signal.Signals[number])
    at_step(3, lambda: [signal.raise_signal(signal.Signals[number]) for _ in range(2)])
    with pytest.raises(SystemExit) as end:
        main(command)
    assert end.value.code == code
    assert capsys.readouterr().err.endswith(f"{tmp_path}/run: stopped at step 3; the same command goes on\n")
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == ["step-00000003.ckpt"]
    assert not (tmp_path / "run/model").exists()
    assert signal.getsignal(signal.Signals[number]) == before
    for out in ("run", "unbroken"):
        with pytest.raises(SystemExit) as end:
            main([*command[:-1], str(tmp_path / out)])
        assert end.value.code == 0
    assert files(tmp_path / "run") == files(tmp_path / "unbroken")


def test_a_signal_before_the_first_step_loses_nothing(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen = stopping.Stopping.listen

    def too_early(self: stopping.Stopping) -> None:
        listen(self)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(stopping.Stopping, "listen", too_early)
    with pytest.raises(StoppedError, match="stopped at step 1; the same command goes on"):
        train(micro, corpus_folder, tmp_path / "run")
    monkeypatch.undo()
    train(micro, corpus_folder, tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_signal_to_another_process_of_the_run_ends_this_one_too_and_leaves_no_model(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reduce(self: Any, tensor: torch.Tensor, *args: Any, reduce_op: str = "mean") -> torch.Tensor:
        return tensor.clamp(min=signal.SIGTERM) if reduce_op == "max" else tensor

    with monkeypatch.context() as patch:
        patch.setattr(SingleDeviceStrategy, "reduce", reduce)
        with pytest.raises(StoppedError, match="stopped at step 1; the same command goes on") as stopped:
            train(micro, corpus_folder, tmp_path / "run")
    assert stopped.value.signal == signal.SIGTERM
    assert not (tmp_path / "run/model").exists()
    train(micro, corpus_folder, tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_signal_that_is_ignored_stays_so(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, at_step: Any
) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        at_step(3, lambda: signal.raise_signal(signal.SIGINT))
        train(micro, corpus_folder, tmp_path / "run")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert files(tmp_path / "run") == files(unbroken)


def test_a_signal_during_the_last_step_does_not_take_the_model_away(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, at_step: Any
) -> None:
    at_step(6, lambda: signal.raise_signal(signal.SIGTERM))
    train(micro, corpus_folder, tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_second_process_in_the_same_folder_is_refused(
    corpus_folder: Path, micro: Config, unbroken: Path
) -> None:
    handle = os.open(unbroken, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(CorpusError, match="is being trained in by another process"):
            train(micro, corpus_folder, unbroken)
    finally:
        os.close(handle)


@pytest.mark.parametrize("name", ["metrics.csv", "monitors.csv"])
@pytest.mark.parametrize("content", [b"", b"step,epo", b"\0" * 50], ids=["empty", "cut", "zeros"])
def test_a_table_that_a_full_disk_or_a_power_cut_has_emptied_is_begun_anew(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run/checkpoints/step-00000006.ckpt").unlink()
    (tmp_path / "run" / name).write_bytes(content)
    train(micro, corpus_folder, tmp_path / "run")
    with (tmp_path / "run" / "metrics.csv").open(newline="") as file:
        steps = [row["step"] for row in csv.DictReader(file)]
    assert steps == (["5", "6"] if name == "metrics.csv" else list("123456"))


def test_a_full_disk_at_the_metrics_is_one_clear_error_and_the_same_command_goes_on(
    corpus_folder: Path,
    micro: Config,
    unbroken: Path,
    tmp_path: Path,
    at_step: Any,
    capsys: pytest.CaptureFixture[str],  # keeps stderr in memory, where it has room
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    at_step(1, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1])))
    try:
        with pytest.raises(OutputError, match=r"metrics\.csv: cannot be written \(File too large"):
            train(micro, corpus_folder, tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    train(micro, corpus_folder, tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_what_a_killed_process_left_half_written_goes(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run/checkpoints/.step-00000006-0123abcd.ckpt").write_bytes(b"half")
    (tmp_path / "run/.model-0123abcd").mkdir()
    (tmp_path / "run/.metrics-0123abcd.csv").touch()
    (tmp_path / "run/.mine").touch()
    train(micro, corpus_folder, tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").rglob(".*")] == [".mine"]


def test_another_corpus_is_refused_and_what_the_run_was_trained_on_stays(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run/checkpoints/step-00000006.ckpt").unlink()
    write_corpus(tmp_path / "wfdb", 6, 9)
    prepare([tmp_path / "wfdb"], tmp_path / "other", jobs=1)
    before = (tmp_path / "run" / trained_on.FILE).read_bytes()
    with pytest.raises(CheckpointError, match=r"another corpus .10 records, .*; this one: 6 records"):
        train(micro, tmp_path / "other", tmp_path / "run")
    assert (tmp_path / "run" / trained_on.FILE).read_bytes() == before
    described = json.loads((tmp_path / "run/config.json").read_text())
    assert described.pop("corpus")["records"] == 10
    # a run from before the corpus was noted: its records are known all the same
    (tmp_path / "run/config.json").write_text(json.dumps(described))
    with pytest.raises(CheckpointError, match="another corpus"):
        train(micro, tmp_path / "other", tmp_path / "run")
    train(micro, corpus_folder, tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)


def test_a_corpus_of_other_labels_is_another_corpus(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path
) -> None:
    shutil.copytree(corpus_folder, tmp_path / "corpus")
    rows = index.read(corpus_folder / "index.parquet").to_pylist()
    rows[0] |= {"leaves": [], "primary": -1}
    index.write(index.table(rows), tmp_path / "corpus" / "index.parquet")
    with pytest.raises(CheckpointError, match="another corpus"):
        train(micro, tmp_path / "corpus", unbroken)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"config": {}}', '{"config": {"depth": 3}}'])
def test_a_damaged_description_is_one_clear_error(
    corpus_folder: Path, micro: Config, tmp_path: Path, content: str
) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        train(micro, corpus_folder, tmp_path)


def test_a_run_that_ends_with_gradients_that_are_not_finite_has_diverged(
    corpus_folder: Path, micro: Config, tmp_path: Path
) -> None:
    settings = ["train.lr=1e9", "train.warmup_epochs=0", "train.monitor_every=1"]
    for _ in range(2):  # and it stays so when it is looked at again
        with pytest.raises(DivergedError, match=r"step 6: .* not finite"):
            train(override(micro, settings), corpus_folder, tmp_path)
    assert not (tmp_path / "model").exists()
    assert "nan" in (tmp_path / "monitors.csv").read_text()


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "one bit":
        content[len(content) // 2] ^= 1
    elif how == "foreign":
        torch.save({"weights": torch.zeros(3)}, path)
        return
    path.write_bytes(content if how == "one bit" else content[: len(content) // 2 if how == "cut" else 0])


@pytest.mark.parametrize(
    ("how", "hashed"), [("one bit", True), ("cut", True), ("empty", False), ("foreign", False)]
)
def test_a_damaged_checkpoint_is_said_and_the_older_one_taken(
    corpus_folder: Path,
    micro: Config,
    unbroken: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    how: str,
    hashed: bool,
) -> None:
    run = tmp_path / "run"
    shutil.copytree(unbroken, run)
    if not hashed:
        (run / "checkpoints.sha256").unlink()
    damage(run / "checkpoints/step-00000006.ckpt", how)
    train(micro, corpus_folder, run)
    assert "step-00000006.ckpt: " in caplog.text
    assert "an older one is tried" in caplog.text
    assert files(run) == files(unbroken)
    caplog.clear()
    for path in (run / "checkpoints").iterdir():
        damage(path, how)
    with pytest.raises(CheckpointError, match="2 checkpoints, and none is whole"):
        train(micro, corpus_folder, run)


def test_the_hashes_are_those_that_sha256sum_checks(unbroken: Path) -> None:

    told = subprocess.run(
        ["sha256sum", "--check", "checkpoints.sha256"],
        cwd=unbroken,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "checkpoints/step-00000004.ckpt: OK\ncheckpoints/step-00000006.ckpt: OK\n"


def test_who_waits_for_runs_of_other_processes_dies_of_sigterm_as_ever() -> None:
    """They hear it too; were it waited for, they would be killed before they have written a checkpoint."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with stopping.left_to_others():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) not in (signal.SIG_DFL, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with stopping.left_to_others():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_second_ctrl_c_counts_only_from_a_hand_that_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sends one to every process of a group, so a second at once may be the first once more."""
    at, raised = [100.0], []
    monkeypatch.setattr(stopping, "time", SimpleNamespace(monotonic=lambda: at[0]))
    monkeypatch.setattr(stopping.signal, "raise_signal", raised.append)
    before, asked = signal.getsignal(signal.SIGINT), stopping.Stopping()
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


class Harmful:
    """What unpickling would obey."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("hashed", [True, False])
def test_a_checkpoint_of_unknown_origin_executes_nothing(
    corpus_folder: Path, micro: Config, unbroken: Path, tmp_path: Path, hashed: bool
) -> None:
    run = shutil.copytree(unbroken, tmp_path / "run")
    (run / "checkpoints.sha256").unlink()
    for path in sorted((run / "checkpoints").iterdir()):
        held = torch.load(path, weights_only=True)
        torch.save({**held, "more": Harmful(tmp_path / "mark")}, path)
        if hashed:
            line = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  checkpoints/{path.name}\n"
            with (run / "checkpoints.sha256").open("a") as file:
                file.write(line)
    with pytest.raises(CheckpointError, match="none is whole"):
        train(micro, corpus_folder, run)
    assert not (tmp_path / "mark").exists()
