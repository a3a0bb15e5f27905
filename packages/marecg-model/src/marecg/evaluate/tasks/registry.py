"""Registry of tasks: tasks by the names of `marecg probe --task`, and the folders of their data."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ecg_records.storage.copies import ensure_local
from marecg.base.plugins import plugin
from marecg.errors import UsageError
from marecg.evaluate.tasks.corpus import CORPUS
from marecg.evaluate.tasks.cpsc2018 import CPSC2018
from marecg.evaluate.tasks.label_tables import labels_task
from marecg.evaluate.tasks.ptbxl import PTBXL_TASKS
from marecg.evaluate.tasks.task import TaskDefinition

PUBLISHED = {task.name: task for task in (*PTBXL_TASKS, CPSC2018)}
"""Tasks of published data sets."""
TASKS = {**PUBLISHED, CORPUS.name: CORPUS}

ALL = "all"
"""Name for all published tasks."""


def task_named(name: str) -> TaskDefinition:
    """Return a task by name, `FILE.py:NAME` or table of labels. Raises `UsageError` if unknown."""
    if name.endswith(".csv"):
        return TaskDefinition(Path(name).stem, CORPUS.data, partial(labels_task, Path(name)))
    return plugin(name, TASKS, TaskDefinition, "task")


def roots(names: Sequence[str], folders: Sequence[str | Path]) -> dict[TaskDefinition, Path]:
    """Return the data folder of each task in the order of `names`; `ALL` means all published tasks.

    Each of `folders` is either `DATA=PATH`, with a data set or a task as DATA, or only PATH. A PATH without
    DATA is for the first task that has no folder yet. Raises `UsageError` for an unknown task, a folder that
    no task reads, or a task without a folder.

    Example:
        >>> [task.name for task in roots(["all"], ["ptb-xl", "cpsc2018=cpsc_2018"])]
        ['ptbxl-super', 'ptbxl-sub', 'ptbxl-form', 'ptbxl-rhythm', 'cpsc2018']
    """
    asked = dict.fromkeys(task for name in names for task in (PUBLISHED if name == ALL else (name,)))
    tasks = [task_named(name) for name in asked]
    accepted = {name for task in tasks for name in (task.name, task.data)}
    given: dict[str, Path] = {}
    for folder in folders:
        data, separator, path = str(folder).partition("=")
        if separator and data in accepted:
            given[data] = ensure_local(path)
        else:
            first = next((task for task in tasks if not {task.name, task.data} & given.keys()), None)
            if first is None:
                raise UsageError(f"none of the tasks reads {folder}", remedy="Remove it, or write DATA=PATH")
            given[first.data] = ensure_local(folder)
    root_of: dict[TaskDefinition, Path] = {}
    for task in tasks:
        if task.name not in given and task.data not in given:
            remedy = f"Name its folder as --root {task.data}=PATH"
            raise UsageError(f"no data is given for the task {task.name}", remedy=remedy)
        root_of[task] = given[task.name] if task.name in given else given[task.data]
    return root_of
