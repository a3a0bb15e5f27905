"""Which of a data set's folds train, select and test, where that is not as it was published."""

import re
from dataclasses import dataclass

from marecg.base.errors import UsageError
from marecg.evaluate.tasks.task import SPLITS, TEST, TRAIN, VAL

RUN = re.compile(r"(\d+)(?:-(\d+))?")
"""Folds in a row; a part may be several of them, as `5-8+1`."""


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
    runs = [RUN.fullmatch(run.strip()) for run in part.split("+")]
    if not all(runs):
        return ()
    return tuple(number for run in runs if run for number in range(int(run[1]), int(run[2] or run[1]) + 1))
