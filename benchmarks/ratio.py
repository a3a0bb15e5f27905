"""A row of the bench: two costs measured side by side, their ratio, and what it should reach."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Action = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """How long a bench may take.

    Attributes:
        repeats: turns that are counted at least, after one that isn't.
        seconds: short turns are repeated for so long, as one disturbance falsifies them more.
        share: of the full number of records and concepts, above 0 and at most 1.
        depth: blocks of the encoder where a step is timed.
    """

    repeats: int = 5
    seconds: float = 15.0
    share: float = 1.0
    depth: int = 4

    def of(self, full: int) -> int:
        """So many of `full`."""
        return max(1, round(full * self.share))


FULL = Effort()
QUICK = Effort(repeats=3, seconds=0, share=0.25, depth=1)


@dataclass(frozen=True)
class Reach:
    """What a ratio is to reach."""

    sign: Literal["≥", "≤", "="]
    value: float

    def met(self, ratio: float) -> bool:
        """Whether it does."""
        if self.sign == "=":
            return ratio == self.value
        return ratio >= self.value if self.sign == "≥" else ratio <= self.value

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"


@dataclass(frozen=True)
class Row:
    """A figure that the project states.

    Attributes:
        name: what the command line calls it.
        what, against: the two things that are compared.
        reach: what the ratio should reach.
        limit: what the machine or the arithmetic allows; empty where nobody knows.
        measure: takes the ratios, one per repeat.
    """

    name: str
    what: str
    against: str
    reach: Reach
    limit: str
    measure: Callable[[Effort], Sequence[float]]


class Measured(NamedTuple):
    """A row with its ratios."""

    row: Row
    ratios: Sequence[float]

    @property
    def ratio(self) -> float:
        """The median."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles."""
        if len(self.ratios) == 1:
            return 0.0
        lower, _, upper = statistics.quantiles(self.ratios, method="inclusive")
        return (upper - lower) / 2

    @property
    def met(self) -> bool:
        """Whether the median reaches what it should."""
        return self.row.reach.met(self.ratio)


class Turn(NamedTuple):
    """Seconds of both sides, one right after the other."""

    ours: float
    baseline: float


def alternate(ours: Action, baseline: Action, effort: Effort) -> list[Turn]:
    """Time both in turns, so that whatever else the machine does hits both; the first turn only warms up."""
    turns = [Turn(seconds(ours), seconds(baseline))]
    while len(turns) <= effort.repeats or sum(map(sum, turns)) < effort.seconds:
        turns.append(Turn(seconds(ours), seconds(baseline)))
    return turns[1:]


def speedups(ours: Action, baseline: Action, effort: Effort) -> list[float]:
    """How many times as fast as the baseline, turn by turn."""
    return [turn.baseline / turn.ours for turn in alternate(ours, baseline, effort)]


def costs(ours: Action, baseline: Action, effort: Effort) -> list[float]:
    """How many times as long as the baseline, turn by turn."""
    return [turn.ours / turn.baseline for turn in alternate(ours, baseline, effort)]


def seconds(action: Action) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
