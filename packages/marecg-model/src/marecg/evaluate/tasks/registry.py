"""Every task by the name that `marecg probe --task` takes."""

from collections.abc import Sequence
from pathlib import Path

from marecg.errors import UsageError
from marecg.evaluate.tasks.corpus import corpus_task
from marecg.evaluate.tasks.cpsc2018 import cpsc2018_task
from marecg.evaluate.tasks.ptbxl import CLASS_OF, ptbxl_task
from marecg.evaluate.tasks.task import Task

PUBLISHED = {**dict.fromkeys(CLASS_OF, ptbxl_task), "cpsc2018": cpsc2018_task}
"""The tasks of published data sets, which MERL's split tables also describe."""
TASKS = (*PUBLISHED, "corpus")

ALL = "all"
"""Stands for every published task."""


def roots(names: Sequence[str], root: Path | None, cpsc2018: Path | None) -> dict[str, Path]:
    """By task, the folder of its data.

    Args:
        names: out of `TASKS` or `ALL`, in the order in which they shall be asked.
        root: the data of every task but CPSC2018, and of that too where it is asked alone.
        cpsc2018: the records of CPSC2018.

    Raises:
        UsageError: there is no such task, or a task's data isn't named.

    Example:
        >>> list(roots(["all"], Path("ptb-xl"), Path("cpsc_2018")))
        ['ptbxl-super', 'ptbxl-sub', 'ptbxl-form', 'ptbxl-rhythm', 'cpsc2018']
    """
    tasks = dict.fromkeys(task for name in names for task in (PUBLISHED if name == ALL else (name,)))
    found: dict[str, Path] = {}
    for task in tasks:
        if task not in TASKS:
            remedy = f"Choose from {', '.join((*TASKS, ALL))}"
            raise UsageError(f"there is no task {task!r}", remedy=remedy)
        own = task == "cpsc2018" and (cpsc2018 is not None or len(tasks) > 1)
        folder = cpsc2018 if own else root
        if folder is None:
            option = "--cpsc2018" if own else "--root"
            raise UsageError(f"the task {task} has no data", remedy=f"Name its folder as {option}")
        found[task] = folder
    return found


def open_task(name: str, root: Path, splits: Path | None = None, *, by_position: bool = False) -> Task:
    """Build the task of that name on the data under `root`.

    Args:
        name: out of `TASKS`.
        root: the data.
        splits: MERL's split tables, if labels and split shall come from there.
        by_position: read those tables' labels by position, as MERL's loader does, and not by name.

    Raises:
        UsageError: there is no such task, or it has no split tables.
        CorpusError: the data isn't there or can't be understood.
    """
    if name not in TASKS:
        raise UsageError(f"there is no task {name!r}", remedy=f"Choose one of {', '.join(TASKS)}")
    if name in PUBLISHED:
        return PUBLISHED[name](name, root, splits, by_position=by_position)
    if splits is not None:
        raise UsageError("there are no split tables for the task corpus", remedy="Leave out --splits")
    return corpus_task(name, root)
