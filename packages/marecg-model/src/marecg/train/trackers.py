"""Trackers of a run: TensorBoard, W&B, MLflow, or a custom logger, in addition to metrics.csv.

Trackers write to the run folder and use no network by default. WANDB_MODE=online connects W&B, and
MLFLOW_TRACKING_URI connects MLflow. A resumed run continues the same run in the tracker.
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
"""Trackers by name, with the modules that each requires. The name is also the name of an extra."""
PROJECT = "marecg"
IDS = "trackers.json"
"""File in the run folder with the ids of the run in its trackers."""


def refuse_missing(loggers: Sequence[str | Logger]) -> None:
    """Check that all trackers are known and installed, before anything is written. Raises `UsageError`."""
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
    """Open a run's trackers at `step`, log its settings, and close them afterwards. Raises `OutputError`."""
    followers: list[Logger] = []
    for logger in loggers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # raised inside imported packages
                made = logger if isinstance(logger, Logger) else _open(logger, folder, step)
                made.log_hyperparams(dict(settings))
        except Exception as error:  # whatever a tracker raises
            raise OutputError(f"{logger} can't be opened ({_in_a_line(error)})", where=folder) from error
        followers.append(made)
    try:
        yield followers
    finally:
        for name, made in zip(loggers, followers, strict=True):
            if name == "wandb" and isinstance(made, WandbLogger):
                made.experiment.finish()


def track(trainer: lightning.Trainer, row: Mapping[str, float]) -> None:
    """Send a step's figures to every tracker. A tracker that fails is dropped with a warning."""
    for tracker in list(trainer.loggers):
        try:
            tracker.log_metrics(dict(row), trainer.global_step)
        except Exception as error:  # noqa: BLE001 (whatever a tracker raises: a server that is gone ends no run)
            name, step = type(tracker).__name__, trainer.global_step
            logger.warning("%s ends at step %d: %s", name, step, _in_a_line(error))
            trainer.loggers = [other for other in trainer.loggers if other is not tracker]


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _open(name: str, folder: Path, step: int) -> Logger:
    """Open a tracker in the run folder. Only the first process has a tracker."""
    if getattr(rank_zero_only, "rank", 0) != 0:
        return DummyLogger()
    if name == "tensorboard":
        return TensorBoardLogger(
            folder, name="", version="tensorboard", default_hp_metric=False, purge_step=step + 1
        )
    file = folder / IDS
    ids: dict[str, str] = read_json(file, "Remove it") if file.exists() else {}
    made: WandbLogger | MLFlowLogger = (_wandb if name == "wandb" else _mlflow)(folder, ids.get(name))
    _ = made.experiment  # creates the run and its id
    write_text(file, json.dumps({**ids, name: made.version}, indent=2))
    return made


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
