"""A run is followed beside metrics.csv: every step once, one run however often it stops, and no network."""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import lightning
import pytest
from lightning.pytorch.loggers import Logger
from lightning.pytorch.loggers.logger import DummyLogger
from tests.marecg.train.runs import rows

from marecg.errors import OutputError, StoppedError, UsageError
from marecg.train import trackers


class StopAfterThree(lightning.Callback):
    """A callback of a user's own, as batch schedulers stop a run."""

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: Any) -> None:
        if trainer.global_step == 3:
            os.kill(os.getpid(), signal.SIGUSR1)


class Kept(DummyLogger):
    """A logger of a user's own."""

    def __init__(self, fails_at: int = 0) -> None:
        super().__init__()
        self.settings: dict[str, Any] = {}
        self.rows: list[tuple[int | None, dict[str, float]]] = []
        self.fails_at = fails_at

    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        self.settings = dict(params)

    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        if step == self.fails_at:
            raise ConnectionError("the server is gone")
        self.rows.append((step, dict(metrics)))


def stopped_and_gone_on(begin: Callable[..., object], logger: str | Logger) -> None:
    with pytest.raises(StoppedError):
        begin(callbacks=[StopAfterThree()], loggers=[logger])
    begin(loggers=[logger])


def losses(run: Path) -> dict[int, float]:
    return {int(row["step"]): float(row["loss"]) for row in rows(run)}


def test_a_callback_and_a_logger_of_ones_own_are_asked_and_told_every_step(pretrain, tmp_path):
    mine = Kept()
    stopped_and_gone_on(partial(pretrain, tmp_path / "run", "train.monitor_every=2"), mine)
    assert {step: row["loss"] for step, row in mine.rows} == losses(tmp_path / "run")
    assert [step for step, _ in mine.rows] == [1, 2, 3, 4, 5, 6]
    assert mine.settings["model"]["width"] == 16
    looked_at = [step for step, row in mine.rows if any(name.startswith("monitor/") for name in row)]
    assert looked_at == [2, 4, 6]


def test_a_tracker_that_fails_costs_a_warning_and_no_run(pretrain, tmp_path, caplog):
    gone, stays, refusing = Kept(fails_at=3), Kept(), Kept()
    pretrain(tmp_path / "run", loggers=[gone, stays])
    assert [len(each.rows) for each in (gone, stays)] == [2, 6]
    assert "Kept failed at step 3 and isn't used any more: the server is gone" in caplog.text
    assert (tmp_path / "run" / "model").is_dir()
    refusing.log_hyperparams = Mock(side_effect=ConnectionError("no route"))
    with pytest.raises(OutputError, match=r"can't be opened \(no route\)"):
        pretrain(tmp_path / "other", loggers=[refusing])


def test_a_missing_extra_is_one_error_before_anything_is_written(pretrain, tmp_path, monkeypatch):
    for name, modules in trackers.NEEDS.items():
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UsageError, match=rf'not installed. pip install "marecg\[{name}\]"'):
            pretrain(tmp_path / "run", loggers=[name])
    with pytest.raises(UsageError, match="unknown tracker 'excel'"):
        pretrain(tmp_path / "run", loggers=["excel"])
    assert not (tmp_path / "run").exists()


def test_tensorboard_has_every_step_once_after_a_stop(pretrain, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tmp_path / "run"
    stopped_and_gone_on(partial(pretrain, run), "tensorboard")
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    assert {each.step: pytest.approx(each.value) for each in events.Scalars("loss")} == losses(run)
    assert len(events.Scalars("loss")) == 6
    assert {"recon", "gscl", "lr", "epoch"} <= set(events.Tags()["scalars"])


@pytest.mark.slow
def test_wandb_stays_offline_and_is_one_run_after_a_stop(pretrain, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    run = tmp_path / "run"
    stopped_and_gone_on(partial(pretrain, run), "wandb")
    parts = [path.name for path in run.glob("wandb/*run-*/*.wandb")]
    assert len(parts) == 2
    assert len(set(parts)) == 1, "both have one id, so that `wandb sync` makes one run of them"
    assert all(path.name.startswith("offline-run-") for path in run.glob("wandb/*run-*"))


@pytest.mark.slow
def test_mlflow_keeps_one_run_in_the_run_folder_after_a_stop(pretrain, tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run = tmp_path / "run"
    stopped_and_gone_on(partial(pretrain, run), "mlflow")
    with sqlite3.connect(run / "mlflow.db") as database:
        assert database.execute("select name, status from runs").fetchall() == [("run", "FINISHED")]
        rows = database.execute("select step, value from metrics where key = 'loss'").fetchall()
        assert database.execute("select value from params where key = 'model/width'").fetchone() == ("16",)
    database.close()
    assert len(rows) == 6
    assert {step: pytest.approx(value) for step, value in rows} == losses(run)
