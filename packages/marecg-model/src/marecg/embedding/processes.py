"""Processes that embed records: this one, local workers, or a Dask cluster."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeVar

import torch
from joblib import Parallel, delayed

from marecg.corpus.workers import workers
from marecg.errors import CheckpointError
from marecg.model.mar_ecg import MarEcg
from marecg.model.pretrained import weights_sha256

WORTH_A_PROCESS = 1024
"""Records per process that make it worthwhile: `small` needs three times as long for them as a process needs
to start."""
SMALL = 10_000_000
"""Parameters up to which a model's matrix products are too small for threads.

Two threads took 1.27 times the processor time of two processes with `small`, and 0.95 times with a block of
the paper's width.
"""
T = TypeVar("T")


def processes(model: MarEcg, records: int, jobs: int | None = None) -> int:
    """Return the number of processes for a number of records: `jobs`, or one per GPU.

    On a CPU, a small model gets a process for each torch thread that has enough work. A large model gets a
    single process.
    """
    if jobs is not None:
        return jobs
    if torch.cuda.is_available():
        return torch.cuda.device_count()
    if not threadless(model):
        return 1
    return max(1, min(torch.get_num_threads(), records // WORTH_A_PROCESS))


def threadless(model: MarEcg) -> bool:
    """Return whether several single-threaded processes run a model faster than one threaded process."""
    small = sum(weights.numel() for weights in model.parameters()) <= SMALL
    return small and model.prototypes.device.type == "cpu"


def elsewhere(
    make: Callable[..., T],
    run: str,
    model: MarEcg,
    tasks: Iterable[tuple[Any, ...]],
    count: int,
    cluster: str | None,
    where: object,
) -> Iterator[T]:
    """Yield the results of `make(model, *task)` in the order of the tasks, computed by `count` processes.

    Local processes share this process' threads. With `cluster`, the workers of a Dask scheduler compute
    instead. Each process loads `run` once, which must still have the weights of `model`.

    Args:
        cluster: address of the Dask scheduler.
        where: name of the output in errors.

    Raises:
        CheckpointError: the model was replaced.
        CorpusError: a process was killed.
    """
    weights, threads = weights_sha256(model), max(1, torch.get_num_threads() // count)
    with workers(0, count, cluster, threads, where=where):
        parallel = Parallel(return_as="generator", batch_size=1)
        yield from parallel(delayed(_with_model)(make, run, weights, task) for task in tasks)


def _with_model(make: Callable[..., T], run: str, weights: str, task: tuple[Any, ...]) -> T:
    return make(_loaded(run, weights), *task)


@lru_cache(maxsize=1)
def _loaded(run: str, weights: str) -> MarEcg:
    """Load the model once per process. Raises `CheckpointError` if its weights were replaced."""
    model = MarEcg.from_pretrained(run).to(device_here())
    if weights_sha256(model) != weights:
        remedy = "Restore the weights, and run the command again"
        raise CheckpointError("its weights changed while the command was running", where=run, remedy=remedy)
    return model


def device_here() -> torch.device:
    """Return the device of this process. Worker processes take the GPUs in turn."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    worker = multiprocessing.current_process().name.rpartition("-")[2]
    number = int(worker) - 1 if worker.isdecimal() else 0
    return torch.device("cuda", number % torch.cuda.device_count())
