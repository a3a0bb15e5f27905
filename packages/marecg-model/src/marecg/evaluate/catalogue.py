"""Every task by the name that `marecg probe --task` takes."""

from pathlib import Path

from marecg.errors import UsageError
from marecg.evaluate.corpus_task import corpus_task
from marecg.evaluate.cpsc2018_task import cpsc2018_task
from marecg.evaluate.ptbxl_tasks import CLASS_OF, ptbxl_task
from marecg.evaluate.tasks import Task

PUBLISHED = {**dict.fromkeys(CLASS_OF, ptbxl_task), "cpsc2018": cpsc2018_task}
"""The tasks of published data sets, which MERL's split tables also describe."""
TASKS = (*PUBLISHED, "corpus")


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
