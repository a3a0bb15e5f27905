"""A checkpoint is written whole or not at all, and one that is damaged or foreign is passed over."""

import errno
import hashlib
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.fabric.plugins import TorchCheckpointIO
from tests.marecg.train.runs import files, rows

from marecg.errors import CheckpointError, OutputError
from marecg.train.checkpoints import newest


def test_a_full_disk_leaves_the_last_good_checkpoint(pretrain, tmp_path, monkeypatch):
    save = TorchCheckpointIO.save_checkpoint

    def full(self: TorchCheckpointIO, checkpoint: dict[str, Any], path: Path) -> None:
        if checkpoint["global_step"] > 2:
            Path(path).write_bytes(b"half a checkpoint")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(self, checkpoint, path)

    monkeypatch.setattr(TorchCheckpointIO, "save_checkpoint", full)
    with pytest.raises(OutputError, match="No space left"):
        pretrain(tmp_path)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-00000002.ckpt"]


def test_training_goes_on_while_a_slow_disk_takes_the_last_state(pretrain, unbroken, tmp_path, monkeypatch):
    save = TorchCheckpointIO.save_checkpoint

    def slow(self: TorchCheckpointIO, checkpoint: dict[str, Any], path: Path) -> None:
        last, patience = checkpoint["global_step"] == 6, time.monotonic() + 600
        while not last and len(rows(tmp_path)) == checkpoint["global_step"]:
            assert time.monotonic() < patience, "no further step was taken"
            time.sleep(0.01)
        save(self, checkpoint, path)

    monkeypatch.setattr(TorchCheckpointIO, "save_checkpoint", slow)
    pretrain(tmp_path)
    assert rows(tmp_path) == rows(unbroken)
    (tmp_path / "checkpoints/step-00000006.ckpt").unlink()
    shutil.rmtree(tmp_path / "model")
    pretrain(tmp_path, resume=True)
    assert rows(tmp_path) == rows(unbroken), "from the state after step 4, whatever came while it was written"
    exported = [(run / "model/model.safetensors").read_bytes() for run in (tmp_path, unbroken)]
    assert exported[0] == exported[1]


def hash_all(run: Path) -> None:
    """Have the hashes fit, as of a writer that was damaged itself."""
    paths = (run / "checkpoints").iterdir()
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  checkpoints/{path.name}\n" for path in paths)
    (run / "checkpoints.sha256").write_text("".join(lines))


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "foreign":
        torch.save({"weights": torch.zeros(3)}, path)
    elif how == "one bit":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        path.write_bytes(content[: len(content) // 2 if how == "cut" else 0])


@pytest.mark.parametrize(
    ("how", "hashed"), [("one bit", False), ("cut", False), ("empty", True), ("foreign", True)]
)
def test_a_damaged_checkpoint_is_named_and_an_older_one_taken(
    pretrain, unbroken, tmp_path, caplog, how, hashed
):
    run = shutil.copytree(unbroken, tmp_path / "run")
    damage(run / "checkpoints/step-00000006.ckpt", how)
    if hashed:
        hash_all(run)
    pretrain(run)
    assert "step-00000006.ckpt: " in caplog.text
    assert "trying an older checkpoint" in caplog.text
    assert files(run) == files(unbroken)
    caplog.clear()
    for path in (run / "checkpoints").iterdir():
        damage(path, how)
    if hashed:
        hash_all(run)
    with pytest.raises(CheckpointError, match="all 2 checkpoints are damaged"):
        pretrain(run)


PARTS = ("state_dict", "optimizer_states", "loops", "global_step", "skipped_steps")


@pytest.mark.parametrize("lacking", PARTS)
def test_a_checkpoint_without_what_a_run_goes_on_from_is_passed_over(lacking, tmp_path, caplog):
    (tmp_path / "checkpoints").mkdir()
    whole = dict.fromkeys(PARTS, 4)
    for step, held in ((2, whole), (4, {name: it for name, it in whole.items() if name != lacking})):
        torch.save(held, tmp_path / f"checkpoints/step-{step:08}.ckpt")
    hash_all(tmp_path)
    assert newest(tmp_path) == tmp_path / "checkpoints/step-00000002.ckpt"
    assert f"step-00000004.ckpt: has no {lacking}; trying an older checkpoint" in caplog.text


def rewrite(checkpoint: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a checkpoint holds, and have its hash fit."""
    held = torch.load(checkpoint, weights_only=True)
    change(held)
    torch.save(held, checkpoint)
    hash_all(checkpoint.parent.parent)


MASK = "network.model.tokens.mask"
"""A tensor of 16 numbers."""
ROW = torch.zeros(1, 50).expand(16, 50)
"""The shape of the first moments, with the memory of their first row."""


def moments(held: dict[str, Any]) -> Any:
    return held["optimizer_states"][0]["state"]


UNFIT = (
    lambda held: held.update(global_step="x"),
    lambda held: held.update(loops={}),
    lambda held: held["state_dict"].pop(MASK),
    lambda held: held["state_dict"].update({MASK: torch.zeros(17)}),
    lambda held: held["state_dict"].update({MASK: torch.zeros(16, device="meta")}),
    lambda held: held["optimizer_states"][0].update(state=[]),
    lambda held: moments(held)[0].update(exp_avg=torch.zeros(3)),
    lambda held: moments(held)[0].update(exp_avg=ROW),
)
UNFIT_AS_WELL = (
    lambda held: held.update(global_step=7),
    lambda held: held.update(skipped_steps=[0, "x"]),
    lambda held: held.update(processes="x"),
    lambda held: held.update(callbacks=[]),
    lambda held: held.update(state_dict=[]),
    lambda held: held["state_dict"].update(unknown=torch.zeros(3)),
    lambda held: held["state_dict"].update({MASK: torch.zeros(16, dtype=torch.int64)}),
    lambda held: held["state_dict"].update({MASK: [0.0] * 16}),
    lambda held: held.update(optimizer_states=[]),
    lambda held: moments(held).update({72: moments(held)[0]}),
    lambda held: moments(held)[0].pop("exp_avg"),
    lambda held: moments(held)[0].update(exp_avg=torch.zeros(16, 50, dtype=torch.float64)),
    lambda held: moments(held)[0].update(step=torch.zeros(16)),
    lambda held: moments(held)[0].update(step=4),
)


@pytest.mark.parametrize(
    "change", [*UNFIT, *(pytest.param(each, marks=pytest.mark.nightly) for each in UNFIT_AS_WELL)]
)
def test_a_checkpoint_that_does_not_fit_the_network_and_its_optimiser_is_passed_over(
    pretrain, unbroken, tmp_path, caplog, change
):
    """PyTorch would end in tracebacks or, with moments of another shape, kill the process."""
    run = shutil.copytree(unbroken, tmp_path / "run")
    rewrite(run / "checkpoints/step-00000006.ckpt", change)
    pretrain(run)
    assert "step-00000006.ckpt: is damaged (" in caplog.text
    assert "trying an older checkpoint" in caplog.text
    assert files(run) == files(unbroken)


def test_what_follows_from_the_number_of_steps_is_not_read_from_a_checkpoint(
    pretrain, unbroken, tmp_path, caplog
):
    run = shutil.copytree(unbroken, tmp_path / "run")
    (run / "checkpoints/step-00000006.ckpt").unlink()
    senseless = {"lr_schedulers": [{"step": "x"}], "pytorch-lightning_version": "x", "epoch": "x"}

    def change(held: dict[str, Any]) -> None:
        held.update(senseless, loops={"fit_loop": {"epoch_progress": "x"}})
        held["optimizer_states"][0]["param_groups"] = []

    rewrite(run / "checkpoints/step-00000004.ckpt", change)
    pretrain(run)
    assert "an older one" not in caplog.text
    assert files(run) == files(unbroken)


def test_the_hashes_are_those_that_sha256sum_checks(unbroken):
    printed = subprocess.check_output(["sha256sum", "--check", "checkpoints.sha256"], cwd=unbroken, text=True)
    assert printed == "checkpoints/step-00000004.ckpt: OK\ncheckpoints/step-00000006.ckpt: OK\n"


class Harmful:
    """What unpickling would obey."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("hashed", [True, False])
def test_a_checkpoint_of_unknown_origin_executes_nothing(pretrain, unbroken, tmp_path, hashed):
    run = shutil.copytree(unbroken, tmp_path / "run")
    for path in (run / "checkpoints").iterdir():
        held = torch.load(path, weights_only=True)
        torch.save({**held, "more": Harmful(tmp_path / "mark")}, path)
    if hashed:
        hash_all(run)
    with pytest.raises(CheckpointError, match="checkpoints are damaged"):
        pretrain(run)
    assert not (tmp_path / "mark").exists()
