"""Determine the processes of a run. They are started by torchrun, by SLURM, or by Lightning.

A launcher determines the number of processes and nodes. `train.devices` and `train.nodes` must agree with it.
The processes exchange gradients by collective operations, in which each process waits for all others. These
operations time out after ten minutes, so that no process waits forever for a process that has ended.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import torch
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch.strategies import DDPStrategy
from lightning.pytorch.utilities import rank_zero_only

from marecg.base.device import best_device
from marecg.errors import PeerError, UsageError
from marecg.recipes.schema import TrainConfig

logger = logging.getLogger(__name__)
EXCHANGE_TIMEOUT = timedelta(minutes=10)
"""Timeout of collective operations. A step, or writing a checkpoint, takes less time."""
_SIGNS = ("gloo", "nccl", "timed out", "timeout", "connection", "broken pipe", "pair closure")


@dataclass(frozen=True)
class Processes:
    """Processes of a run, each with a device.

    Attributes:
        per_node: Number of processes on every node.
        nodes: Number of nodes.
        launcher: Program that started the processes, which error messages name. None if Lightning starts
            them.
        environment: Object from which Lightning learns a process' number and the other processes. None if
            Lightning detects it.
    """

    per_node: int
    nodes: int = 1
    launcher: str | None = None
    environment: ClusterEnvironment | None = None

    @property
    def number(self) -> int:
        """Number of processes on all nodes."""
        return self.per_node * self.nodes

    def strategy(self) -> DDPStrategy | Literal["auto"]:
        """Return Lightning's strategy: DDP with `EXCHANGE_TIMEOUT` if there are several processes."""
        return DDPStrategy(timeout=EXCHANGE_TIMEOUT) if self.number > 1 else "auto"


def processes_of(train: TrainConfig) -> Processes:
    """Return the processes that a launcher started, or else the processes in the settings.

    Raises `UsageError` if the settings contradict the launcher, or if there are fewer GPUs than processes.
    """
    processes = _of_torchrun(train) or _of_slurm()
    if processes is None:
        devices = _visible_devices() if train.devices == "auto" else train.devices
        # In a SLURM allocation, Lightning would wait for tasks that srun hasn't started.
        environment = LightningEnvironment() if "SLURM_NTASKS" in os.environ else None
        processes = Processes(devices, 1 if train.nodes == "auto" else train.nodes, environment=environment)
    for key, configured, started in (
        ("devices", train.devices, processes.per_node),
        ("nodes", train.nodes, processes.nodes),
    ):
        if configured not in ("auto", started):
            what = "processes per node" if key == "devices" else "nodes"
            problem = f"train.{key} must be the number of {what} that {processes.launcher} started"
            remedy = f"Omit train.{key}, or start {configured} {what}"
            raise UsageError(f"{problem} ({started}), got {configured}", remedy=remedy)
    if best_device().type == "cuda" and processes.per_node > torch.cuda.device_count():
        count, gpus = processes.per_node, torch.cuda.device_count()
        problem = f"{count} processes per node need {count} GPUs, got {gpus}"
        remedy = (
            "Start fewer processes, or let each process see all GPUs of its node (--gres=gpu:N, not "
            "--gpus-per-task)"
        )
        raise UsageError(problem, remedy=remedy)
    return processes


def shared_out(train: TrainConfig, processes: int) -> TrainConfig:
    """Return the settings with a global batch size, which replaces `accumulate`, for a number of processes.

    Logs a warning if micro-batches must be smaller than `batch_size`. Raises `ConfigError` if the global
    batch can't be divided equally among the processes.
    """
    size, per_step = train.micro_batches(processes)
    records = train.records_per_step(processes)
    if size < train.batch_size:
        share = f"a device reads {size * per_step} of the {records} records of a step"
        rank_zero_only(logger.warning)(
            f"train.batch_size is {size} instead of {train.batch_size}, because {share}"
        )
    return train.model_copy(update={"accumulate": None, "global_batch_size": records})


def _visible_devices() -> int:
    return torch.cuda.device_count() if best_device().type == "cuda" else 1


def _of_torchrun(train: TrainConfig) -> Processes | None:
    """Return the processes that torchrun started, or that Lightning started. None if there are none."""
    if "WORLD_SIZE" not in os.environ:
        return None
    number = _environment_number("WORLD_SIZE")
    if "LOCAL_RANK" not in os.environ:
        if number == 1:
            return None
        remedy = "Start the command with torchrun or srun, or unset WORLD_SIZE"
        raise UsageError(f"LOCAL_RANK must be set if WORLD_SIZE is set ({number})", remedy=remedy)
    if "LOCAL_WORLD_SIZE" in os.environ:
        per_node = _environment_number("LOCAL_WORLD_SIZE")
        nodes = _share(number, per_node, "WORLD_SIZE", "processes per node")
    else:
        nodes = 1 if train.nodes == "auto" else train.nodes
        per_node = _share(number, nodes, "WORLD_SIZE", "nodes")
    if "RANK" in os.environ:
        return Processes(per_node, nodes, "torchrun", TorchElasticEnvironment())
    return Processes(per_node, nodes, "the first process", LightningEnvironment())


def _of_slurm() -> Processes | None:
    """Return the tasks that srun started. None if there is a single task, or srun wasn't used."""
    if "SLURM_STEP_NUM_TASKS" in os.environ:  # srun sets it
        tasks = _environment_number("SLURM_STEP_NUM_TASKS")
    elif "SLURM_PROCID" in os.environ and SLURMEnvironment.job_name() not in ("bash", "interactive"):
        tasks = _environment_number("SLURM_NTASKS", 1)
        if tasks > 1:
            message = "waiting for %d SLURM tasks, which must be started with srun"
            rank_zero_only(logger.warning)(message, tasks)
    else:
        return None
    if tasks == 1:
        return None
    nodes = _environment_number("SLURM_STEP_NUM_NODES", _environment_number("SLURM_NNODES", 1))
    return Processes(
        _share(tasks, nodes, "SLURM_NTASKS", "nodes"), nodes, "SLURM", _Slurm(auto_requeue=False)
    )


def _share(number: int, parts: int, name: str, of: str) -> int:
    if number % parts:
        remedy = "Start the same number of processes on every node"
        raise UsageError(f"{name} must be a multiple of the {of} ({parts}), got {number}", remedy=remedy)
    return number // parts


def _environment_number(name: str, default: int | None = None) -> int:
    text = os.environ.get(name, "" if default is None else str(default))
    if not text.isdecimal() or int(text) == 0:
        raise UsageError(f"{name} must be a positive whole number, got {text!r}", remedy=f"Unset {name}")
    return int(text)


class _Slurm(SLURMEnvironment):
    """SLURM environment that doesn't require --ntasks-per-node. Lightning's environment does."""

    @staticmethod
    def _validate_srun_variables() -> None:
        """Accept all variables, because `processes_of` has checked them."""

    def validate_settings(self, num_devices: int, num_nodes: int) -> None:
        """Accept all numbers, because `processes_of` has checked them."""


@contextmanager
def lost_peers(processes: int, run: Path) -> Iterator[None]:
    """Raise `PeerError` if a collective operation fails in a `with` block, because another process ended."""
    try:
        yield
    except RuntimeError as error:
        if processes == 1 or not any(sign in str(error).lower() for sign in _SIGNS):
            raise
        timeout_s = EXCHANGE_TIMEOUT.total_seconds()
        problem = f"another process didn't respond for {timeout_s:g} s, or has ended"
        remedy = "Check its output, and run the same command to continue from the newest checkpoint"
        raise PeerError(problem, where=run, remedy=remedy) from error
