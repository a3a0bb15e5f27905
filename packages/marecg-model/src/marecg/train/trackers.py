"""Send the losses of a run to TensorBoard, W&B, MLflow, or a custom logger. metrics.csv is always written.

By default, trackers write to the run folder and don't use the network. To connect W&B, set WANDB_MODE=online.
To connect MLflow, set MLFLOW_TRACKING_URI. A resumed run continues the same run in the tracker.
"""

import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger
from lightning.pytorch.loggers.logger import DummyLogger
from lightning.pytorch.utilities import rank_zero_only

from ecg_base import suggest, write_text
from ecg_records.storage.documents import read_json
from marecg.errors import OutputError, UsageError

logger = logging.getLogger(__name__)

NEEDS = {"tensorboard": ("tensorboard",), "wandb": ("wandb",), "mlflow": ("mlflow", "sqlalchemy", "alembic")}
"""Modules that each tracker requires, by the tracker's name, which is also an extra of the package."""
PROJECT = "marecg"
IDS = "trackers.json"
"""File in the run folder with the id of the run in each tracker."""


def refuse_missing(loggers: Sequence[str | Logger]) -> None:
    """Raise `UsageError` if a tracker is unknown or not installed."""
    for name in loggers:
        if isinstance(name, str) and name not in NEEDS:
            raise UsageError(f"unknown tracker {name!r}", remedy=suggest(name, NEEDS))
        if isinstance(name, str) and any(find_spec(module) is None for module in NEEDS[name]):
            remedy = f'pip install "marecg[{name}]"'
            raise UsageError(f"the tracker {name} is not installed", remedy=remedy)


@contextmanager
def opened(
    loggers: Sequence[str | Logger], folder: Path, settings: Mapping[str, Any], step: int
) -> Iterator[list[Logger]]:
    """Open the trackers of a run, log its settings, and close the trackers at the end of the `with` block.

    Args:
        loggers: Names of trackers, or Lightning loggers.
        folder: Run folder.
        settings: Settings of the run.
        step: Number of optimiser steps so far.

    Raises:
        OutputError: If a tracker can't be opened.
    """
    trackers: list[Logger] = []
    for logger in loggers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # raised inside imported packages
                tracker = logger if isinstance(logger, Logger) else _open(logger, folder, step)
                tracker.log_hyperparams(dict(settings))
        except Exception as error:  # trackers raise different exception classes
            raise OutputError(f"{logger} can't be opened ({_in_a_line(error)})", where=folder) from error
        trackers.append(tracker)
    try:
        yield trackers
    finally:
        for name, tracker in zip(loggers, trackers, strict=True):
            if name == "wandb" and isinstance(tracker, WandbLogger):
                tracker.experiment.finish()


def track(trainer: lightning.Trainer, row: Mapping[str, float]) -> None:
    """Send the losses of a step to all trackers. If a tracker fails, log a warning and don't use it again."""
    for tracker in list(trainer.loggers):
        try:
            tracker.log_metrics(dict(row), trainer.global_step)
        except Exception as error:  # noqa: BLE001 (a tracker's failure of any class must not end the run)
            name, step = type(tracker).__name__, trainer.global_step
            logger.warning("%s failed at step %d and isn't used any more: %s", name, step, _in_a_line(error))
            trainer.loggers = [other for other in trainer.loggers if other is not tracker]


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _open(name: str, folder: Path, step: int) -> Logger:
    """Open a tracker by its name. Only the first process has a tracker."""
    if getattr(rank_zero_only, "rank", 0) != 0:
        return DummyLogger()
    if name == "tensorboard":
        return TensorBoardLogger(
            folder, name="", version="tensorboard", default_hp_metric=False, purge_step=step + 1
        )
    file = folder / IDS
    ids: dict[str, str] = read_json(file, "Remove it") if file.exists() else {}
    tracker: WandbLogger | MLFlowLogger = (_wandb if name == "wandb" else _mlflow)(folder, ids.get(name))
    _ = tracker.experiment  # creates the run and its id
    write_text(file, json.dumps({**ids, name: tracker.version}, indent=2))
    return tracker


def _wandb(folder: Path, run_id: str | None) -> WandbLogger:
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    from wandb import Settings  # noqa: PLC0415 (an extra)

    quiet = Settings(
        silent=True,
        console="off",
        disable_git=True,
        save_code=False,
        reinit="create_new",
        x_disable_stats=True,
        x_save_requirements=False,
    )
    return WandbLogger(
        folder.resolve().name,
        save_dir=folder,
        id=run_id,
        project=os.environ.get("WANDB_PROJECT", PROJECT),
        offline=os.environ.get("WANDB_MODE") != "online",
        settings=quiet,
    )


def _mlflow(folder: Path, run_id: str | None) -> MLFlowLogger:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    return MLFlowLogger(
        os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT),
        folder.resolve().name,
        tracking_uri=uri or f"sqlite:///{(folder / 'mlflow.db').resolve()}",
        artifact_location=None if uri else (folder / "mlflow").resolve().as_uri(),
        run_id=run_id,
    )
