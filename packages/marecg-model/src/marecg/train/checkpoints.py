"""Write checkpoints atomically with a SHA-256, and read them only if the hash matches.

checkpoints/step-*.ckpt   the two newest checkpoints
checkpoints.sha256        their hashes, in the format of `sha256sum --check`
"""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint
from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor

from ecg_base import file_sha256, replacing
from marecg.errors import CheckpointError, OutputError
from marecg.model.batch import Batch
from marecg.train.callbacks import AfterStep
from marecg.train.lightning_module import Pretraining
from marecg.train.preemption import Preemption

logger = logging.getLogger(__name__)

KEPT_CHECKPOINTS = 2
SUMS = "checkpoints.sha256"
REQUIRED = {"state_dict", "optimizer_states", "loops", "global_step", "skipped_steps"}


class Checkpoints(AfterStep, Checkpoint):
    """Callback that saves checkpoints: every `every` steps, after the last step, and before an early stop.

    Old checkpoints are deleted only after a new checkpoint is complete, in case the disk is full.
    """

    def __init__(self, run: Path, every: int, preemption: Preemption) -> None:
        self.run = run
        self.every = every
        self.preemption = preemption
        self.writing = BackgroundWriter(run)

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Install signal handlers, and set the learning rate of the next step.

        Lightning's own signal handlers would end the run without a checkpoint. The learning rate comes from
        the current schedule, not from the checkpoint, because the length of the run may have changed.
        """
        self.preemption.listen()
        for scheduler in trainer.lr_scheduler_configs:
            schedule = scheduler.scheduler
            assert isinstance(schedule, torch.optim.lr_scheduler.LambdaLR)
            rates = zip(schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True)
            for group, base, factor in rates:
                group["lr"] = base * factor(schedule.last_epoch)

    def after_step(self, trainer: lightning.Trainer, module: Pretraining, batch: Batch) -> None:
        """Save a checkpoint every `every` steps, after the last step, and if a signal stops the run."""
        self.writing.raise_failure()
        step = trainer.global_step
        # A signal to any process must stop all processes. Otherwise, the others would take the run for
        # complete. A signal that arrives during the exchange takes effect after the next step.
        received = torch.tensor(self.preemption.signal or 0, device=trainer.strategy.root_device)
        agreed = int(trainer.strategy.reduce(received, reduce_op="max"))
        stop = agreed != 0
        if stop:
            self.preemption.signal = agreed
        if step % self.every == 0 or step == module.total_steps or stop:
            # Every process takes part in collecting the state. Only the first process writes.
            trainer.save_checkpoint(self.run / "checkpoints" / f"step-{step:08d}.ckpt", weights_only=False)
        if stop:
            trainer.should_stop = True

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Wait until the last checkpoint is written. Raises `OutputError` if it can't be written."""
        self.writing.finish()


class BackgroundWriter(TorchCheckpointIO):
    """Writer that copies a checkpoint in memory, and writes it while training continues.

    Until a checkpoint is complete, the previous checkpoint counts as the newest.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._begun: Future[None] | None = None

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Start to write a checkpoint. Wait first until the previous checkpoint is written.

        Raises `OutputError` if the previous checkpoint couldn't be written.
        """
        self.finish()
        copied = apply_to_collection(checkpoint, torch.Tensor, lambda x: x.detach().to("cpu", copy=True))
        self._begun = self._thread.submit(self._write, copied, Path(path))

    def load_checkpoint(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Read a checkpoint, and mark it with the installed version of Lightning.

        Without the mark, Lightning would migrate checkpoints of older versions.
        """
        return super().load_checkpoint(*args, **kwargs) | {"pytorch-lightning_version": lightning.__version__}

    def raise_failure(self) -> None:
        """Raise `OutputError` if a checkpoint couldn't be written. Don't wait for an unfinished write."""
        if self._begun is not None and self._begun.done():
            self.finish()

    def finish(self) -> None:
        """Wait until the current checkpoint is written. Raises `OutputError` if it can't be written."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.result()

    def teardown(self) -> None:
        """Wait until the current checkpoint is written, and log a failure.

        Lightning calls this method when training ends, also after an error.
        """
        try:
            self.finish()
        except OutputError as error:
            logger.warning("%s", error)
        self._thread.shutdown()

    def _write(self, checkpoint: dict[str, Any], target: Path) -> None:
        with replacing(target) as path:
            super().save_checkpoint(checkpoint, path)
            # The hash comes first, because a checkpoint without a hash counts as damaged.
            _write_sums(self.run, _sums(self.run) | {target.name: file_sha256(path)})
        paths = written(self.run)
        for old in paths[:-KEPT_CHECKPOINTS]:
            old.unlink()
        names = {path.name for path in paths[-KEPT_CHECKPOINTS:]}
        _write_sums(self.run, {name: sha for name, sha in _sums(self.run).items() if name in names})


def written(run: Path) -> list[Path]:
    """Return all checkpoints of a run, also damaged ones, from oldest to newest."""
    return sorted((run / "checkpoints").glob("step-*.ckpt"))


def step_of(checkpoint: Path) -> int:
    """Return the number of optimiser steps after which a checkpoint was saved, from its file name."""
    return int(checkpoint.stem.removeprefix("step-"))


def newest(run: Path, module: Pretraining | None = None) -> Path | None:
    """Return the newest undamaged checkpoint, or None if the run has no checkpoints.

    Logs a warning for each damaged checkpoint that it skips.

    Args:
        run: Run folder.
        module: Module that must be able to load the checkpoint. If None, only the file is checked.

    Raises:
        CheckpointError: If all checkpoints are damaged.
    """
    paths, sums = written(run), _sums(run)
    for path in reversed(paths):
        problem = _problem(path, sums.get(path.name), module)
        if problem is None:
            return path
        logger.warning("%s: %s; trying an older checkpoint", path, problem)
    if paths:
        remedy = "Restore a copy, or start again in another folder"
        problem, where = f"all {len(paths)} checkpoints are damaged", run / "checkpoints"
        raise CheckpointError(problem, where=where, remedy=remedy)
    return None


def _problem(path: Path, sha256: str | None, module: Pretraining | None) -> str | None:
    """Describe the damage of a checkpoint, or return None if it is undamaged."""
    try:
        if sha256 != file_sha256(path):
            return f"is damaged (its SHA-256 doesn't match {SUMS})"
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        missing = REQUIRED - content.keys()
        if missing or module is None:
            return f"has no {min(missing)}" if missing else None
        difference = next(_differences(content, module, step_of(path)), None)
    except Exception as error:  # noqa: BLE001 (a damaged file can raise any exception)
        return f"can't be read ({' '.join(str(error).split())[:80] or type(error).__name__})"
    return f"is damaged ({difference})" if difference else None


def _differences(content: dict[str, Any], module: Pretraining, step: int) -> Iterator[str]:
    """Yield the differences in keys, shapes and types that prevent a module from loading a checkpoint.

    PyTorch doesn't check the moments of an optimiser. If their shape is wrong, its fused AdamW reads and
    writes outside their memory.
    """
    if not _is_count(content["global_step"]) or content["global_step"] != step:
        yield f"its global_step is not {step}"
    if not isinstance(content["loops"], dict) or "fit_loop" not in content["loops"]:
        yield "its loops have no fit_loop"
    skipped = content["skipped_steps"]
    if not isinstance(skipped, list) or len(skipped) != 2 or not all(map(_is_count, skipped)):
        yield "its skipped_steps are not two numbers"
    if not _is_count(content.get("processes", 1)):
        yield "its processes are not a number"
    callbacks = content.get("callbacks", {})
    if not isinstance(callbacks, dict) or not all(isinstance(state, dict) for state in callbacks.values()):
        yield "its callbacks are not states"
    yield from _other_tensors(content["state_dict"], module.state_dict(), "state_dict")
    states = content["optimizer_states"]
    if not (isinstance(states, list) and len(states) == 1 and isinstance(states[0], dict)):
        yield "its optimizer_states are not a list of one state"
    moments = states[0].get("state")
    if not isinstance(moments, dict):
        yield "its optimiser has no state"
    groups = module.configure_optimizers()["optimizer"].param_groups
    parameters = dict(enumerate(parameter for group in groups for parameter in group["params"]))
    if unknown := [key for key in moments if type(key) is not int or key not in parameters]:
        yield f"its optimiser has the state of {len(unknown)} unknown parameters"
    for number, state in moments.items():  # a parameter without gradients has no state
        own = {"step": torch.tensor(0.0), **dict.fromkeys(("exp_avg", "exp_avg_sq"), parameters[number])}
        yield from _other_tensors(state, own, f"the optimiser's state {number}")
        strides = parameters[number].stride()
        if any(not value.is_contiguous() and value.stride() != strides for value in state.values()):
            yield f"the optimiser's state {number} has values that share memory"


def _other_tensors(found: Any, own: Mapping[str, Tensor], where: str) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{where} is not a dictionary"
        return
    if missing := own.keys() - found.keys():
        yield f"{where} has no {min(missing)}"
    if unknown := found.keys() - own.keys():
        yield f"{where} has {len(unknown)} unknown entries"
    for name, tensor in own.items():
        if _layout(found[name]) != _layout(tensor):
            yield f"{name} of {where} is not {_layout(tensor)}"


def _layout(value: Any) -> str:
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.device.type != "cpu":
        return "no tensor in memory"
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


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
