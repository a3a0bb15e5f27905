"""What a task is before its data are read: its name, its data set, its folds, its classes' concepts."""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from marecg.base.errors import UsageError
from marecg.evaluate.tasks.task import SPLITS, TEST, TRAIN, VAL, Task

FOLD_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
"""Folds in a row; a part may be several of them, as `5-8+1`."""
ZEROSHOT_TABLE = Path(__file__).with_name("zeroshot.tsv")


@dataclass(frozen=True)
class Folds:
    """Fold numbers by what they are for; a fold that is in none takes no part.

    Example:
        >>> folds = Folds.of("1-5,6,7-8")
        >>> [folds.part(number) for number in (5, 6, 8, 9)]
        ['train', 'val', 'test', '']
        >>> str(Folds.of("5-8+1,2,3-4"))
        'train 5–8+1, val 2, test 3–4'
    """

    train: tuple[int, ...]
    val: tuple[int, ...]
    test: tuple[int, ...]
    text: str

    @classmethod
    def of(cls, text: str) -> "Folds":
        """Read `TRAIN,VAL,TEST`, each a fold, folds in a row, or rows joined by `+`. Raises `UsageError`."""
        parts = [_numbers(part) for part in text.split(",")]
        numbers = [number for part in parts for number in part]
        if len(parts) != 3 or not all(parts) or len(set(numbers)) != len(numbers):
            problem = f"folds {text!r}: not three parts that have nothing in common"
            raise UsageError(problem, remedy="Write TRAIN,VAL,TEST, such as 1-5,6,7-8 or 5-8+1,2,3-4")
        train, val, test = parts
        return cls(train, val, test, text)

    def part(self, number: int) -> str:
        """Which of `task.SPLITS` a fold belongs to; empty where to none."""
        named = ((TRAIN, self.train), (VAL, self.val), (TEST, self.test))
        return next((name for name, part in named if number in part), "")

    def __str__(self) -> str:
        parts = "".join(self.text.split()).replace("-", "–").split(",")
        return ", ".join(f"{name} {part}" for name, part in zip(SPLITS, parts, strict=True))


def _numbers(part: str) -> tuple[int, ...]:
    """The folds of a part; none where it isn't one."""
    runs = [FOLD_RANGE.fullmatch(run.strip()) for run in part.split("+")]
    if not all(runs):
        return ()
    return tuple(number for run in runs if run for number in range(int(run[1]), int(run[2] or run[1]) + 1))


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


@cache
def zeroshot_concepts(task: str) -> dict[str, tuple[str, ...]]:
    """The concepts (abbreviations) that stand for each class of a published task, by class."""
    with ZEROSHOT_TABLE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["task"] == task]
    return {row["class"]: tuple(row["concepts"].split()) for row in rows}
