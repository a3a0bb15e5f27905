"""Every task by the name that `marecg probe --task` takes."""

from collections.abc import Callable
from pathlib import Path

from marecg.errors import UsageError
from marecg.evaluate.corpus_task import corpus_task
from marecg.evaluate.ptbxl_tasks import CLASS_OF, ptbxl_task
from marecg.evaluate.tasks import Task

TASKS: dict[str, Callable[[str, Path], Task]] = {
    **dict.fromkeys(CLASS_OF, ptbxl_task),
    "corpus": corpus_task,
}


def open_task(name: str, root: Path) -> Task:
    """Build the task of that name on the data under `root`.

    Raises:
        UsageError: there is no such task.
        CorpusError: the data isn't there or can't be understood.
    """
    if name not in TASKS:
        raise UsageError(f"there is no task {name!r}", remedy=f"Choose one of {', '.join(TASKS)}")
    return TASKS[name](name, root)
