"""Find tasks by the names of `marecg probe --task`, and match them with the folders of their data."""

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
"""Tasks of published datasets, by name."""
TASKS = {**PUBLISHED, CORPUS.name: CORPUS}

ALL = "all"
"""Value of `--task` that stands for all published tasks."""


def task_named(name: str) -> TaskDefinition:
    """Return the definition of a task, built-in or from another package, by its name.

    The name may also be the path of a CSV of labels for a prepared corpus, or `FILE.py:NAME`, a
    `TaskDefinition` called NAME in a Python file. Raises `UsageError` if the name is unknown.
    """
    if name.endswith(".csv"):
        return TaskDefinition(Path(name).stem, CORPUS.data, partial(labels_task, Path(name)))
    return plugin(name, TASKS, TaskDefinition, "task")


def roots(names: Sequence[str], folders: Sequence[str | Path]) -> dict[TaskDefinition, Path]:
    """Return the data folder of each task, in the order of `names`.

    Args:
        names: names of tasks, or `ALL` for all published tasks.
        folders: each is `DATA=PATH`, where DATA is a dataset or a task, or only PATH. A PATH without DATA is
            for the dataset of the first task that has no folder yet.

    Raises:
        UsageError: a task is unknown or has no folder, or a folder belongs to none of the tasks.

    Example:
        >>> [task.name for task in roots(["all"], ["ptb-xl", "cpsc2018=cpsc_2018"])]
        ['ptbxl-super', 'ptbxl-sub', 'ptbxl-form', 'ptbxl-rhythm', 'cpsc2018']
    """
    names = list(dict.fromkeys(task for name in names for task in (PUBLISHED if name == ALL else (name,))))
    tasks = [task_named(name) for name in names]
    accepted = {name for task in tasks for name in (task.name, task.data)}
    path_of: dict[str, Path] = {}
    for folder in folders:
        data, separator, path = str(folder).partition("=")
        if separator and data in accepted:
            path_of[data] = ensure_local(path)
        else:
            first = next((task for task in tasks if not {task.name, task.data} & path_of.keys()), None)
            if first is None:
                raise UsageError(f"none of the tasks reads {folder}", remedy="Remove it, or write DATA=PATH")
            path_of[first.data] = ensure_local(folder)
    root_of: dict[TaskDefinition, Path] = {}
    for task in tasks:
        if task.name not in path_of and task.data not in path_of:
            remedy = f"Give the folder of its data: --root {task.data}=PATH"
            raise UsageError(f"the task {task.name} needs a folder of data, got none", remedy=remedy)
        root_of[task] = path_of[task.name] if task.name in path_of else path_of[task.data]
    return root_of
