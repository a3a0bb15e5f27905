"""Checkpoints: written whole with a SHA-256, and read only if it matches.

checkpoints/step-*.ckpt   the newest two
checkpoints.sha256        their hashes, as `sha256sum --check` reads them
"""

import hashlib
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint
from lightning_utilities.core.apply_func import apply_to_collection

from ecg_base import replacing
from marecg.errors import CheckpointError, OutputError
from marecg.model.batch import Batch
from marecg.train.callbacks import AfterStep
from marecg.train.lightning_module import Pretraining
from marecg.train.preemption import Preemption

logger = logging.getLogger(__name__)

KEPT_CHECKPOINTS = 2
SUMS = "checkpoints.sha256"


class Checkpoints(AfterStep, Checkpoint):
    """Callback that saves checkpoints: at a step interval, after the last step, and on a request to stop.

    An older one goes only when the newer is complete, so a full disk costs no more than the newest.
    """

    def __init__(self, run: Path, every: int, preemption: Preemption) -> None:
        self.run = run
        self.every = every
        self.preemption = preemption
        self.writing = WrittenBehind(run)

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Restore signal handlers, because Lightning's would end the run without a checkpoint.

        The next step's learning rate, which a checkpoint holds, becomes that of the present schedule.
        """
        self.preemption.listen()
        for scheduler in trainer.lr_scheduler_configs:
            schedule = scheduler.scheduler
            assert isinstance(schedule, torch.optim.lr_scheduler.LambdaLR)
            rates = zip(schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True)
            for group, base, factor in rates:
                group["lr"] = base * factor(schedule.last_epoch)

    def on_load_checkpoint(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adapt Lightning's count of micro-batches to the run's present length and number of processes.

        Lightning marked the former last batch of an extended run as the last.
        """
        assert isinstance(pl_module, Pretraining)
        step, loop = checkpoint["global_step"], checkpoint["loops"]["fit_loop"]
        progress = loop["epoch_loop.batch_progress"]
        if step < pl_module.total_steps:
            progress["is_last_batch"] = False
        before, now = progress["total"]["ready"] // step, trainer.accumulate_grad_batches
        for counts in (progress["total"], progress["current"]):
            counts |= {name: count + (now - before) * step for name, count in counts.items()}
        loop["state_dict"]["combined_loader"] = [{"next": now * step}]
        processes = checkpoint.get("processes", trainer.world_size)
        if processes != trainer.world_size and trainer.is_global_zero:
            records = pl_module.config.train.records_per_step()
            numbers = (trainer.world_size, processes, records)
            message = "%s: goes on in %d instead of %d processes; a step still reads %d records"
            logger.warning(message, self.run, *numbers)

    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Save a checkpoint if one is due."""
        self.writing.look()
        step = trainer.global_step
        # What any rank was asked, all were: one that ended as if it were complete would export its model.
        asked = torch.tensor(self.preemption.signal or 0, device=trainer.strategy.root_device)
        self.preemption.signal = int(trainer.strategy.reduce(asked, reduce_op="max")) or None
        stop = self.preemption.signal is not None
        if step % self.every == 0 or step == module.total_steps or stop:
            # Every rank takes part in collecting the state, all of it; rank 0 alone writes.
            trainer.save_checkpoint(self.run / "checkpoints" / f"step-{step:08d}.ckpt", weights_only=False)
        if stop:
            trainer.should_stop = True

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Wait for the last checkpoint. Raises `OutputError` if it can't be written."""
        self.writing.finish()


class WrittenBehind(TorchCheckpointIO):
    """Background writer: copies a checkpoint to memory and writes it while training continues.

    Until a checkpoint is whole the former is the newest, as if the process had been a little slower.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._begun: Future[None] | None = None

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Start a write after the former one has finished. Raises `OutputError` if that fails."""
        self.finish()
        copied = apply_to_collection(checkpoint, torch.Tensor, lambda x: x.detach().to("cpu", copy=True))
        self._begun = self._thread.submit(self._write, copied, Path(path))

    def look(self) -> None:
        """Check whether a background write has failed. Raises `OutputError`."""
        if self._begun is not None and self._begun.done():
            self.finish()

    def finish(self) -> None:
        """Wait for the current write. Raises `OutputError` if it fails."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.result()

    def teardown(self) -> None:
        """Finish writing when training ends, also by an error; a failed write is only logged."""
        try:
            self.finish()
        except OutputError as error:
            logger.warning("%s", error)
        self._thread.shutdown()

    def _write(self, checkpoint: dict[str, Any], target: Path) -> None:
        with replacing(target) as path:
            super().save_checkpoint(checkpoint, path)
            # The hash comes first: without it no file of that name counts.
            _write_sums(self.run, _sums(self.run) | {target.name: _sha256(path)})
        paths = written(self.run)
        for old in paths[:-KEPT_CHECKPOINTS]:
            old.unlink()
        names = {path.name for path in paths[-KEPT_CHECKPOINTS:]}
        _write_sums(self.run, {name: sha for name, sha in _sums(self.run).items() if name in names})


def written(run: Path) -> list[Path]:
    """Return all checkpoints of a run, oldest first, whole or damaged."""
    return sorted((run / "checkpoints").glob("step-*.ckpt"))


def step_of(checkpoint: Path) -> int:
    """Return the number of optimiser steps at a checkpoint."""
    return int(checkpoint.stem.removeprefix("step-"))


def newest(run: Path) -> Path | None:
    """Return the newest whole checkpoint, or None; warn of damaged ones.

    Raises `CheckpointError` where there are some, and none is whole.
    """
    paths, sums = written(run), _sums(run)
    for path in reversed(paths):
        problem = _problem(path, sums.get(path.name))
        if problem is None:
            return path
        logger.warning("%s: %s; an older one is tried", path, problem)
    if paths:
        remedy = "Put back a copy, or begin again in another folder"
        problem, where = f"{len(paths)} checkpoints, and none is whole", run / "checkpoints"
        raise CheckpointError(problem, where=where, remedy=remedy)
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _problem(path: Path, sha256: str | None) -> str | None:
    """Return what is wrong with a checkpoint; None if nothing is."""
    try:
        if sha256 != _sha256(path):
            return f"is damaged (its SHA-256 is not that in {SUMS})"
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        missing = {"state_dict", "optimizer_states", "loops", "global_step"} - content.keys()
    except Exception as error:  # noqa: BLE001 (a damaged file raises whatever it likes)
        return f"can't be read ({' '.join(str(error).split())[:80] or type(error).__name__})"
    return f"has no {min(missing)}" if missing else None


def _sums(run: Path) -> dict[str, str]:
    try:
        lines = (run / SUMS).read_text(encoding="ascii", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    pairs = [line.split("  ", 1) for line in lines if "  " in line]
    return {Path(path).name: sha256 for sha256, path in pairs}


def _write_sums(run: Path, sums: dict[str, str]) -> None:
    with replacing(run / SUMS) as temporary:
        lines = [f"{sha256}  checkpoints/{name}\n" for name, sha256 in sorted(sums.items())]
        temporary.write_text("".join(lines), encoding="ascii")
