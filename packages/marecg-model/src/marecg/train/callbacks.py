"""What a run shows while it goes on: metrics.csv, monitors.csv and how fast it is."""

import csv
import time
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning
import torch
from torch import Tensor

from ecg_ontology import replacing
from marecg.base.errors import OutputError
from marecg.base.progress import Tell
from marecg.corpus.batches import BatchStream
from marecg.ecg.batch import Batch
from marecg.train.lightning_module import Pretraining


class AfterStep(lightning.Callback):
    """Does something once per optimiser step, after its last micro-batch."""

    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        """Look whether the micro-batch was the step's last."""
        assert isinstance(pl_module, Pretraining)
        self.after_batch(trainer, outputs)
        if (batch.number + 1) % trainer.accumulate_grad_batches == 0:
            self.after_step(trainer, pl_module, batch)

    def after_batch(self, trainer: lightning.Trainer, outputs: Mapping[str, Tensor]) -> None:
        """Take note of a micro-batch; most callbacks need not."""

    @abstractmethod
    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """React to a step; `batch` is its last micro-batch."""


class Rows(AfterStep):
    """Adds rows to a CSV file; on resuming, those of steps that the checkpoint doesn't know go."""

    path: Path

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Forget what came after the checkpoint."""
        if trainer.is_global_zero:
            _forget_after(self.path, trainer.global_step)


class Metrics(Rows):
    """metrics.csv: one row per optimiser step, `step,epoch,loss,lr,<named losses…>`.

    A loss is the mean over the step's micro-batches and ranks; `batches_per_epoch` are of all ranks.
    """

    def __init__(self, path: Path, batches_per_epoch: float) -> None:
        self.path = path
        self.batches_per_epoch = batches_per_epoch
        self.latest: dict[str, float] = {}
        self._batches: list[dict[str, Tensor]] = []
        self._lr = 0.0

    def on_before_optimizer_step(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Note the learning rate that this step is taken with."""
        self._lr = optimizer.param_groups[0]["lr"]

    def after_batch(self, trainer: lightning.Trainer, outputs: Mapping[str, Tensor]) -> None:
        """Keep the losses; Lightning hands `loss` back divided by the number of micro-batches."""
        whole = outputs["loss"] * trainer.accumulate_grad_batches
        self._batches.append({**outputs, "loss": whole.detach()})

    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Write the step's row."""
        # One tensor for all losses: one exchange between ranks, and one wait for the GPU.
        values = torch.stack([torch.stack(list(losses.values())) for losses in self._batches])
        reduced = trainer.strategy.reduce(values.double().mean(0), reduce_op="mean")
        assert isinstance(reduced, Tensor)
        means = dict(zip(self._batches[0], reduced.tolist(), strict=True))
        self._batches = []
        self.latest = {
            "step": trainer.global_step,
            "epoch": (batch.number + 1) * trainer.world_size / self.batches_per_epoch,
            "loss": means.pop("loss"),
            "lr": self._lr,
            **means,
        }
        if trainer.is_global_zero:
            _append(self.path, self.latest)


class Monitors(Rows):
    """monitors.csv: the signs of collapse, one row per look at them (`marecg.train.monitors`)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Write the row of a step that was looked at."""
        if trainer.is_global_zero and module.looked_at(trainer.global_step):
            _append(self.path, {"step": trainer.global_step, **module.monitored})


class Speed(AfterStep):
    """Tells the step, the speed and the latest row of metrics.csv.

    `records/s` is over all ranks since this process began to train, `data` the share of the time in which
    rank 0 fetched batches.
    """

    def __init__(self, metrics: Metrics, tell: Tell) -> None:
        self.metrics = metrics
        self.tell = tell
        self._began = 0.0
        self._records = 0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Look at the clock."""
        self._began = time.perf_counter()

    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Name the losses, and the skipped steps if there are any."""
        if not trainer.is_global_zero:
            return
        seconds, stream = time.perf_counter() - self._began, trainer.train_dataloader
        assert isinstance(stream, BatchStream)
        self._records += stream.batch_size * stream.world * trainer.accumulate_grad_batches
        notes = [f"records/s {self._records / seconds:.1f}", f"data {stream.seconds / seconds:.1%}"]
        losses = {name: value for name, value in self.metrics.latest.items() if name not in {"step", "lr"}}
        notes += [f"{name} {value:.3f}" for name, value in losses.items()]
        if module.skipped_steps:
            notes.append(f"skipped {module.skipped_steps}")
        self.tell(trainer.global_step, module.total_steps, ", ".join(notes))


def _append(path: Path, row: Mapping[str, float]) -> None:
    try:
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if file.tell() == 0:  # also one that a full disk has left empty
                writer.writeheader()
            writer.writerow(row)
    except OSError as error:
        remedy = "Make room on the disk; the same command goes on"
        raise OutputError(f"cannot be written ({error.strerror})", where=path, remedy=remedy) from error


def _forget_after(path: Path, step: int) -> None:
    """Keep the rows up to a step; one that a crash cut short goes too, being later than any checkpoint."""
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="replace").replace("\0", "")  # a power cut leaves zeros
    head, *rows = list(csv.reader(text.splitlines())) or [[]]
    rows = [row for row in rows if len(row) == len(head) and row[0].isdigit() and int(row[0]) <= step]
    if not rows:
        path.unlink()
        return
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
