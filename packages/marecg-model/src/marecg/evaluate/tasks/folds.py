"""Which of a data set's folds train, select and test, where that is not as it was published."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from marecg.base.errors import UsageError
from marecg.evaluate.tasks.task import TEST, TRAIN, VAL

PART = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Folds:
    """Fold numbers by what they are for; a fold that is in none takes no part.

    Example:
        >>> folds = Folds.of("1-5,6,7-8")
        >>> [folds.part(number) for number in (5, 6, 8, 9)]
        ['train', 'val', 'test', '']
        >>> str(folds)
        'train 1–5, val 6, test 7–8'
    """

    train: range
    val: range
    test: range

    @classmethod
    def of(cls, text: str) -> "Folds":
        """Read `TRAIN,VAL,TEST`, each a fold or several in a row. Raises `UsageError`."""
        found = [PART.fullmatch(part.strip()) for part in text.split(",")]
        parts = [range(int(one[1]), int(one[2] or one[1]) + 1) for one in found if one]
        numbers = [number for part in parts for number in part]
        if not len(found) == len(parts) == len([part for part in parts if part]) == 3 or len(
            set(numbers)
        ) != len(numbers):
            problem = f"folds {text!r}: not three parts that have nothing in common"
            raise UsageError(problem, remedy="Write TRAIN,VAL,TEST, such as 1-5,6,7-8")
        return cls(*parts)

    def part(self, number: int) -> str:
        """Which of `task.SPLITS` a fold belongs to; empty where to none."""
        named = ((TRAIN, self.train), (VAL, self.val), (TEST, self.test))
        return next((name for name, part in named if number in part), "")

    def __str__(self) -> str:
        named = ((TRAIN, self.train), (VAL, self.val), (TEST, self.test))
        return ", ".join(f"{name} {_as_text(part)}" for name, part in named)


def _as_text(part: Sequence[int]) -> str:
    return f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0])
