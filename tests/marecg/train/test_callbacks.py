"""What a run shows while it goes on: metrics.csv, monitors.csv and a progress bar."""

import re
import resource
import shutil
from contextlib import redirect_stderr, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.marecg.told import Told
from tests.marecg.train.runs import files, rows

from marecg.errors import OutputError
from marecg.train.callbacks import Metrics


def test_the_logged_loss_is_the_weighted_sum_of_the_named_ones(unbroken, micro):
    for row in rows(unbroken):
        total = float(row["recon"]) + float(row["mask"]) + micro.gscl.weight * float(row["gscl"])
        assert float(row["loss"]) == pytest.approx(total, rel=1e-6)


def test_an_epoch_is_over_when_all_processes_together_have_seen_the_corpus(tmp_path):
    """Two processes see 8 micro-batches in 4 turns; of a step's two the mean loss is written."""
    trainer: Any = SimpleNamespace(
        global_step=1,
        world_size=2,
        is_global_zero=True,
        accumulate_grad_batches=2,
        strategy=SimpleNamespace(reduce=lambda losses, reduce_op: losses),
        train_dataloader=SimpleNamespace(batch_size=1, world=2, seconds=0.0),
        loggers=[],
    )
    module = SimpleNamespace(is_monitored=lambda step: False, skipped_steps=0, total_steps=1)
    metrics = Metrics(tmp_path, 8.0, lambda *_: None)
    for number, loss in ((2, 1.0), (3, 2.0)):
        outputs = {"loss": torch.tensor(loss / 2), "recon": torch.tensor(loss)}
        batch: Any = SimpleNamespace(number=number)
        metrics.on_train_batch_end(trainer, module, outputs, batch, number)
    assert rows(tmp_path) == [{"step": "1", "epoch": "1.0", "loss": "1.5", "lr": "0.0", "recon": "1.5"}]


def test_the_monitors_are_written_at_the_steps_that_were_looked_at(pretrain, tmp_path):
    pretrain(tmp_path, "train.monitor_every=3")
    looks = rows(tmp_path, "monitors.csv")
    assert [look["step"] for look in looks] == ["3", "6"]
    assert list(looks[0]) == ["step", "std", "rank", "entropy", "grad_recon", "grad_mask", "grad_gscl"]
    assert all(float(look[name]) > 0 for look in looks for name in look)


def test_progress_tells_records_per_second_and_the_share_of_the_time_that_data_take(pretrain, tmp_path):
    told = Told()
    pretrain(tmp_path / "run", progress=told)
    rate, share = re.search(r"records/s ([\d.]+).*data ([\d.]+)%", told.seen[-1][-1]).groups()
    assert float(rate) > 0
    assert 0 < float(share) < 100


def test_where_stderr_cannot_be_written_the_bar_ends_alone(pretrain, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("marecg.base.progress.PAUSE", 0.0)
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full:
        with redirect_stderr(full):
            pretrain(tmp_path / "run")
        with suppress(OSError):
            full.close()
    [warning] = [message for message in caplog.messages if "progress bar" in message]
    assert warning == "the progress bar ends: stderr can't be written (No space left on device)"
    assert len(rows(tmp_path / "run")) == 6


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.csv", b""),
        ("metrics.csv", b"step,epo"),
        ("metrics.csv", b"\0" * 50),
        ("monitors.csv", b""),
        pytest.param("monitors.csv", b"step,epo", marks=pytest.mark.slow),
        pytest.param("monitors.csv", b"\0" * 50, marks=pytest.mark.slow),
    ],
)
def test_a_table_that_a_full_disk_has_emptied_is_begun_anew(pretrain, unbroken, tmp_path, name, content):
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run/checkpoints/step-00000006.ckpt").unlink()
    (tmp_path / "run" / name).write_bytes(content)
    pretrain(tmp_path / "run")
    steps = [row["step"] for row in rows(tmp_path / "run")]
    assert steps == (["5", "6"] if name == "metrics.csv" else list("123456"))


@pytest.mark.usefixtures("capsys")  # keeps stderr in memory, where it has room
def test_a_full_disk_is_one_clear_error_and_the_same_command_goes_on(pretrain, unbroken, tmp_path, at_step):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    at_step(1, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1])))
    try:
        with pytest.raises(OutputError, match=r"metrics\.csv: cannot be written \(File too large"):
            pretrain(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    pretrain(tmp_path / "run")
    assert files(tmp_path / "run") == files(unbroken)
