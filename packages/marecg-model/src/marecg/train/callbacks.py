"""Callbacks of a run, which write metrics.csv and monitors.csv, and update trackers and the progress bar."""

import csv
import time
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning
import torch
from torch import Tensor

from ecg_base import read_bounded, replacing
from marecg.base.progress import Tell
from marecg.errors import CheckpointError, OutputError
from marecg.model.batch import Batch
from marecg.train.lightning_module import Pretraining
from marecg.train.trackers import track

METRICS_BYTES = 1 << 28
"""Maximum bytes of metrics.csv and monitors.csv. A step has about 150 bytes."""


class AfterStep(lightning.Callback):
    """Callback that runs once per optimiser step, after the last micro-batch of the step."""

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        """Call `after_step` after the step's last micro-batch."""
        if (batch.number + 1) % trainer.accumulate_grad_batches == 0:
            self.after_step(trainer, pl_module, batch)

    @abstractmethod
    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Run after an optimiser step. `batch` is the last micro-batch of the step."""


class Metrics(AfterStep):
    """Callback that writes the losses of each step to files, trackers and the progress display.

    metrics.csv has a row per optimiser step: `step,epoch,loss,lr,<named losses…>`. A loss is the mean over
    all micro-batches of the step in all processes. monitors.csv has a row per check whether the embeddings
    have collapsed. In the progress display, `records/s` is the number of records of all processes per second
    since training began or was resumed. `data` is the share of the time that the first process spent on
    fetching data.

    Args:
        folder: Run folder.
        records: Number of records in the corpus.
        tell: Progress display.
    """

    def __init__(self, folder: Path, records: int, tell: Tell) -> None:
        self.folder = folder
        self.records = records
        self.tell = tell
        self._batches: list[dict[str, Tensor]] = []
        self._lr = 0.0
        self._began = time.perf_counter()
        self._records = 0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Remove the rows of steps after the checkpoint, and start the clock."""
        for name in ("metrics.csv", "monitors.csv") if trainer.is_global_zero else ():
            _forget_after(self.folder / name, trainer.global_step)
        self._began = time.perf_counter()

    def on_before_optimizer_step(
        self, trainer: lightning.Trainer, pl_module: Any, optimizer: torch.optim.Optimizer
    ) -> None:
        """Store the learning rate of the step."""
        self._lr = optimizer.param_groups[0]["lr"]

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: Any, outputs: Any, batch: Batch, batch_idx: int
    ) -> None:
        """Store the losses of a micro-batch.

        Lightning has divided `loss` by the number of micro-batches. This method multiplies it again.
        """
        loss = outputs["loss"] * trainer.accumulate_grad_batches
        self._batches.append({**outputs, "loss": loss.detach()})
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Write the losses of the step, and update the progress display."""
        # With a single tensor for all losses, processes communicate once, and wait for the GPU once.
        values = torch.stack([torch.stack(list(losses.values())) for losses in self._batches])
        reduced = trainer.strategy.reduce(values.double().mean(0), reduce_op="mean")
        assert isinstance(reduced, Tensor)
        losses = dict(zip(self._batches[0], reduced.tolist(), strict=True))
        self._batches = []
        if not trainer.is_global_zero:
            return
        stream: Any = trainer.train_dataloader
        batches_per_epoch = self.records / stream.batch_size
        step, epoch = trainer.global_step, (batch.number + 1) * trainer.world_size / batches_per_epoch
        row = {"epoch": epoch, "loss": losses.pop("loss"), "lr": self._lr, **losses}
        _append(self.folder / "metrics.csv", {"step": step, **row})
        monitors = module.monitored if module.is_monitored(step) else {}
        if monitors:
            _append(self.folder / "monitors.csv", {"step": step, **monitors})
        track(trainer, row | {f"monitor/{name}": value for name, value in monitors.items()})
        seconds = time.perf_counter() - self._began
        self._records += stream.batch_size * stream.world * trainer.accumulate_grad_batches
        notes = [f"records/s {self._records / seconds:.1f}", f"data {stream.seconds / seconds:.1%}"]
        notes += [f"{name} {value:.3f}" for name, value in row.items() if name != "lr"]
        notes += [f"skipped {module.skipped_steps}"] if module.skipped_steps else []
        self.tell(step, module.total_steps, ", ".join(notes))


def _append(path: Path, row: Mapping[str, float]) -> None:
    try:
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if file.tell() == 0:  # a full disk may have left an empty file
                writer.writeheader()
            writer.writerow(row)
    except OSError as error:
        remedy = "Free disk space, and run the same command to continue"
        raise OutputError(f"cannot be written ({error.strerror})", where=path, remedy=remedy) from error


def _forget_after(path: Path, step: int) -> None:
    """Remove the rows after a step from a CSV file.

    Incomplete rows are removed as well. A crash leaves them, so they belong to steps after any checkpoint.
    """
    if not path.exists():
        return
    content = read_bounded(path, "Remove it", CheckpointError, METRICS_BYTES)
    text = content.decode(errors="replace").replace("\0", "")  # a power cut leaves zeros
    head, *rows = list(csv.reader(text.splitlines())) or [[]]
    rows = [row for row in rows if len(row) == len(head) and row[0].isdigit() and int(row[0]) <= step]
    if not rows:
        path.unlink()
        return
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
