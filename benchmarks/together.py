"""Measure two processes that share a task, relative to two independent tasks at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from benchmarks.corpora import records, workspace
from benchmarks.ratio import Effort, speedups
from marecg.corpus.workers import workers

Task = Callable[[Sequence[Path], Path, int], object]
"""Function of folders of records, an output path and a number of processes. It must be picklable."""


def beside_two_apart(
    task: Task, half: int, effort: Effort, *, ending: str = "", threads: int | None = None
) -> list[float]:
    """Return the speed of two processes that share a task, relative to two tasks with half the records each.

    All processes are started before the measurement, so that imports aren't included.

    Args:
        task: the task.
        half: number of records in each half.
        effort: duration of the benchmark.
        ending: suffix of the output path.
        threads: threads per process; None for all.
    """
    numbers, halves = count(), [records(half, seed=seed) for seed in (1, 2)]

    def out() -> Path:
        return workspace() / f"written-{next(numbers)}{ending}"

    with workers(2 * half, 2, None, threads), ProcessPoolExecutor(2, get_context("spawn")) as independent:
        return speedups(
            lambda: task(halves, out(), 2),
            lambda: list(independent.map(task, [[folder] for folder in halves], [out(), out()], [1, 1])),
            effort,
        )
