"""What working together costs: two processes of one task beside two tasks at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from benchmarks.corpora import records, workspace
from benchmarks.ratio import Effort, speedups
from marecg.corpus.workers import workers

Task = Callable[[Sequence[Path], Path, int], object]
"""Takes folders of records, what to write, and how many processes do it; other processes can be sent it."""


def beside_two_apart(
    task: Task, half: int, effort: Effort, *, ending: str = "", threads: int | None = None
) -> list[float]:
    """How much faster two processes are that share a task than two that have half of its records each.

    All are running already: imports are no matter of throughput. Two threads of one core are never twice as
    fast as one of them, together or each for itself.

    Args:
        task: what is to be done.
        half: records.
        effort: how often.
        ending: of what is written.
        threads: of each process; as many as there are if None.
    """
    numbers, halves = count(), [records(half, seed=seed) for seed in (1, 2)]

    def out() -> Path:
        return workspace() / f"written-{next(numbers)}{ending}"

    with workers(2 * half, 2, None, threads), ProcessPoolExecutor(2, get_context("spawn")) as apart:
        return speedups(
            lambda: task(halves, out(), 2),
            lambda: list(apart.map(task, [[each] for each in halves], [out(), out()], [1, 1])),
            effort,
        )
