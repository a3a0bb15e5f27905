"""Define rows of the benchmarks: ratios of two costs that are measured in turns, and their targets."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Action = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """Size and duration of a benchmark.

    Attributes:
        repeats: minimum number of turns, without the first turn.
        seconds: minimum duration. Short turns are repeated more often, because they vary more.
        share: share of the full number of records, above 0 and at most 1.
        depth: number of encoder blocks in a timed step.
    """

    repeats: int = 5
    seconds: float = 15.0
    share: float = 1.0
    depth: int = 4

    def of(self, full: int) -> int:
        """Return the share of a full number, but at least 1."""
        return max(1, round(full * self.share))


FULL = Effort()
QUICK = Effort(repeats=3, seconds=0, share=0.25, depth=1)


@dataclass(frozen=True)
class Reach:
    """Target of a ratio."""

    sign: Literal["≥", "≤", "="]
    value: float

    def met(self, ratio: float) -> bool:
        """Return whether a ratio reaches the target."""
        if self.sign == "=":
            return ratio == self.value
        return ratio >= self.value if self.sign == "≥" else ratio <= self.value

    def __str__(self) -> str:
        return f"{self.sign} {self.value:g}"


@dataclass(frozen=True)
class Row:
    """Row of the benchmarks.

    Attributes:
        name: name on the command line.
        what, against: descriptions of what is measured, and of its baseline.
        reach: target of the ratio.
        limit: ratio that the machine or the arithmetic allows; "" if it is unknown.
        measure: function that returns the ratios of the turns.
    """

    name: str
    what: str
    against: str
    reach: Reach
    limit: str
    measure: Callable[[Effort], Sequence[float]]


class Measured(NamedTuple):
    """Row with its measured ratios."""

    row: Row
    ratios: Sequence[float]

    @property
    def ratio(self) -> float:
        """Return the median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> float:
        """Return half the distance between the quartiles of the ratios."""
        if len(self.ratios) == 1:
            return 0.0
        lower, _, upper = statistics.quantiles(self.ratios, method="inclusive")
        return (upper - lower) / 2

    @property
    def met(self) -> bool:
        """Return whether the median reaches the target."""
        return self.row.reach.met(self.ratio)


class Turn(NamedTuple):
    """Seconds of our action, and of the baseline directly after it."""

    ours: float
    baseline: float


def alternate(ours: Action, baseline: Action, effort: Effort) -> list[Turn]:
    """Time two actions in turns, so that disturbances affect both. The first turn is dropped."""
    turns = [Turn(seconds(ours), seconds(baseline))]
    while len(turns) <= effort.repeats or sum(map(sum, turns)) < effort.seconds:
        turns.append(Turn(seconds(ours), seconds(baseline)))
    return turns[1:]


def speedups(ours: Action, baseline: Action, effort: Effort) -> list[float]:
    """Return for each turn the time of the baseline divided by our time."""
    return [turn.baseline / turn.ours for turn in alternate(ours, baseline, effort)]


def costs(ours: Action, baseline: Action, effort: Effort) -> list[float]:
    """Return for each turn our time divided by the time of the baseline."""
    return [turn.ours / turn.baseline for turn in alternate(ours, baseline, effort)]


def seconds(action: Action) -> float:
    """Return the wall time of a call in seconds."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
