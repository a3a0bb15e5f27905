"""What a run writes while it goes on: metrics.csv, checkpoints, and a progress bar with the named losses."""

import csv
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Checkpoint
from tqdm import tqdm

from ecg_ontology.files import replacing
from marecg.data.loader import Batch
from marecg.pretrain import Pretraining

KEPT_CHECKPOINTS = 2


class Metrics(lightning.Callback):
    """metrics.csv: one row per optimiser step, `step,epoch,loss,lr,<named losses…>`.

    A loss is the mean over the step's micro-batches and ranks. On resuming, rows after the checkpoint go.

    Args:
        path: the file.
        batches_per_epoch: micro-batches of one rank that make an epoch, a fraction perhaps, times ranks.
    """

    def __init__(self, path: Path, batches_per_epoch: float) -> None:
        self.path = path
        self.batches_per_epoch = batches_per_epoch
        self.latest: dict[str, float] = {}
        self._sums: dict[str, torch.Tensor] = {}
        self._batches = 0
        self._lr = 0.0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Drop rows of steps that the checkpoint does not know."""
        if trainer.is_global_zero:
            _forget_after(self.path, trainer.global_step)

    def on_before_optimizer_step(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Note the learning rate that this step is taken with."""
        self._lr = optimizer.param_groups[0]["lr"]

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Add a micro-batch; at the end of a step, write its row."""
        accumulate = trainer.accumulate_grad_batches
        for name, value in outputs.items():
            # Lightning hands `loss` back divided by the number of micro-batches.
            whole = value * accumulate if name == "loss" else value
            self._sums[name] = self._sums.get(name, 0.0) + whole.detach().double()
        self._batches += 1
        if self._batches < accumulate:
            return
        means = {
            name: float(trainer.strategy.reduce(value / self._batches, reduce_op="mean"))
            for name, value in self._sums.items()
        }
        self._sums, self._batches = {}, 0
        self.latest = {
            "step": trainer.global_step,
            "epoch": (batch.number + 1) * trainer.world_size / self.batches_per_epoch,
            "loss": means.pop("loss"),
            "lr": self._lr,
            **means,
        }
        if trainer.is_global_zero:
            _append(self.path, self.latest)


class Monitors(lightning.Callback):
    """monitors.csv: the signs of collapse, one row per look at them (`marecg.monitors`)."""

    def __init__(self, path: Path, every: int) -> None:
        self.path = path
        self.every = every
        self._written = 0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Drop rows of steps that the checkpoint does not know."""
        if trainer.is_global_zero:
            _forget_after(self.path, trainer.global_step)

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Write the row of a step that was looked at."""
        assert isinstance(pl_module, Pretraining)
        step = trainer.global_step
        if trainer.is_global_zero and step % self.every == 0 and step > self._written:
            self._written = step
            _append(self.path, {"step": step, **pl_module.monitored})


def _append(path: Path, row: Mapping[str, float]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def _forget_after(path: Path, step: int) -> None:
    """Keep the rows up to a step; one that a crash cut short goes too, being later than any checkpoint."""
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        kept = [row for row in rows if row and row[0].isdigit() and int(row[0]) <= step]
        csv.writer(file).writerows([head, *kept])


class Checkpoints(Checkpoint):
    """A checkpoint every so many optimiser steps and after the last; the newest two stay.

    An older one goes only when the newer is complete, so a full disk costs no more than the newest.
    """

    def __init__(self, folder: Path, every: int) -> None:
        self.folder = folder
        self.every = every
        self._saved = 0

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Save after the step that is due."""
        assert isinstance(pl_module, Pretraining)
        step = trainer.global_step
        due = step % self.every == 0 or step == pl_module.total_steps
        if not due or step == self._saved:
            return
        self._saved = step
        target = self.folder / f"step-{step:08d}.ckpt"
        # Every rank takes part in collecting the state; rank 0 alone writes.
        with replacing(target) if trainer.is_global_zero else nullcontext(target) as path:
            trainer.save_checkpoint(path, weights_only=False)
        if trainer.is_global_zero:
            for old in checkpoints(self.folder)[:-KEPT_CHECKPOINTS]:
                old.unlink()


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints of a run, oldest first."""
    return sorted(folder.glob("step-*.ckpt"))


class Progress(lightning.Callback):
    """A bar on stderr that counts optimiser steps and shows the latest row of metrics.csv."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.bar: tqdm[Any] | None = None

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Begin at the step that the run is at."""
        assert isinstance(pl_module, Pretraining)
        if trainer.is_global_zero:
            self.bar = tqdm(
                total=pl_module.total_steps, initial=trainer.global_step, unit="step", file=sys.stderr
            )

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Advance with the optimiser; name the losses, and the skipped steps if there are any."""
        assert isinstance(pl_module, Pretraining)
        if self.bar is None or self.bar.n == trainer.global_step:
            return
        shown = {
            name: f"{value:.3f}" for name, value in self.metrics.latest.items() if name not in {"step", "lr"}
        }
        if pl_module.skipped_steps:
            shown["skipped"] = str(pl_module.skipped_steps)
        self.bar.set_postfix(shown, refresh=False)
        self.bar.update(trainer.global_step - self.bar.n)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Leave the finished bar."""
        if self.bar is not None:
            self.bar.close()
