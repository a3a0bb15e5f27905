"""Compute embeddings in this process, in local worker processes, or on a Dask cluster."""

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
"""Number of records that justify a further process.

With the model `small`, embedding them takes three times as long as starting a process.
"""
SMALL = 10_000_000
"""Number of parameters up to which processes are faster than threads, because matrix products are small.

With `small`, two threads took 1.27 times the processor time of two processes. With a block of the paper's
width, they took 0.95 times the processor time.
"""
T = TypeVar("T")


def processes(model: MarEcg, records: int, jobs: int | None = None) -> int:
    """Return the number of processes for a number of records.

    The number is `jobs` if given. Otherwise, there is a process per GPU. Without a GPU, a large model runs in
    a single process. A small model runs in a process per `WORTH_A_PROCESS` records, but in no more processes
    than torch has threads.
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


def in_processes(
    make: Callable[..., T],
    run: str,
    model: MarEcg,
    tasks: Iterable[tuple[Any, ...]],
    count: int,
    cluster: str | None,
    where: object,
) -> Iterator[T]:
    """Yield the results of `make(model, *task)` in the order of the tasks, computed by several processes.

    Each process loads the model once.

    Args:
        make: Function of a model and a task.
        run: Name of the model, from which each process loads it.
        model: The same model, already loaded. Each process checks that its weights are the same.
        tasks: Arguments of `make` after the model.
        count: Number of processes. They share the threads of this process.
        cluster: Address of a Dask scheduler whose workers compute instead. None for local processes.
        where: Path of the output. Error messages name it.

    Raises:
        CheckpointError: If the files of the model were replaced after `model` was loaded.
        CorpusError: If a process was killed.
    """
    weights, threads = weights_sha256(model), max(1, torch.get_num_threads() // count)
    with workers(0, count, cluster, threads, where=where):
        parallel = Parallel(return_as="generator", batch_size=1)
        yield from parallel(delayed(_with_model)(make, run, weights, task) for task in tasks)


def _with_model(make: Callable[..., T], run: str, weights: str, task: tuple[Any, ...]) -> T:
    return make(_loaded(run, weights), *task)


@lru_cache(maxsize=1)
def _loaded(run: str, weights: str) -> MarEcg:
    """Load a model once per process. Raises `CheckpointError` if it doesn't have the expected weights."""
    model = MarEcg.from_pretrained(run).to(device_here())
    if weights_sha256(model) != weights:
        remedy = "Restore the weights, and run the command again"
        raise CheckpointError("its weights changed while the command was running", where=run, remedy=remedy)
    return model


def device_here() -> torch.device:
    """Return the device of this process. Worker processes use the GPUs in turn."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    worker = multiprocessing.current_process().name.rpartition("-")[2]
    number = int(worker) - 1 if worker.isdecimal() else 0
    return torch.device("cuda", number % torch.cuda.device_count())
