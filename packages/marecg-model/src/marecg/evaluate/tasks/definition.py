"""What a task is before its data are read: its name, its data set, and how it is built."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from marecg.base.errors import UsageError
from marecg.evaluate.tasks.folds import Folds
from marecg.evaluate.tasks.task import Task


@dataclass(frozen=True)
class TaskDefinition:
    """A task that can be asked.

    Attributes:
        name: by which `marecg probe --task` knows it, and its reports are called.
        data: the data set whose folder it reads, and shares with other tasks (`--root DATA=PATH`).
        build: makes the task from that folder. Raises `CorpusError` where it isn't there or can't be read.
        build_from_splits: makes it from the folder, a folder of MERL's split tables, and whether labels are
            read by position; None where no such tables exist.
        build_on_folds: makes it from the folder with folds of the user's choice; None where it has none.
    """

    name: str
    data: str
    build: Callable[[Path], Task]
    build_from_splits: Callable[[Path, Path, bool], Task] | None = None
    build_on_folds: Callable[[Path, Folds], Task] | None = None

    def open(
        self, root: Path, splits: Path | None = None, *, by_position: bool = False, folds: Folds | None = None
    ) -> Task:
        """Build the task.

        Args:
            root: the folder of its data.
            splits: MERL's split tables, if labels and split shall come from there.
            by_position: read those tables' labels by position, as MERL's loader does, and not by name.
            folds: which of the data set's folds train, select and test; the published ones if None.

        Raises:
            UsageError: it has no split tables, or no folds, or is given both.
            CorpusError: the data isn't there or can't be understood.
        """
        if folds is not None:
            if self.build_on_folds is None or splits is not None:
                problem = f"the folds of the task {self.name} can't be chosen"
                raise UsageError(
                    problem if splits is None else f"{problem} beside splits", remedy="Leave out --set folds"
                )
            return self.build_on_folds(root, folds)
        if splits is None:
            return self.build(root)
        if self.build_from_splits is None:
            problem = f"there are no split tables for the task {self.name}"
            raise UsageError(problem, remedy="Leave out --set splits")
        return self.build_from_splits(root, splits, by_position)
