"""How far a command is: a bar on a terminal, and in a log file one line per tenth.

In a log a line comes as well when ten minutes have passed since the last one, so a run of days is seen to be
alive. With -q there is neither.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

from marecg_cli._output import console, message, quiet

PAUSE = 5.0
"""Seconds between two lines of a log at least: what is done at once needs none."""
PATIENCE = 600.0
"""Seconds after which a log gets a line although no tenth is done."""
Tell = Callable[[int, int | None, str], None]
"""How many are done, of how many if that is known, and what else there is to say."""
T = TypeVar("T")


@contextmanager
def progress(unit: str) -> Iterator[Tell]:
    """Show how many of `unit` are done, for as long as the block runs."""
    if quiet():
        yield lambda done, total, note: None
    elif console(stderr=True).is_terminal:
        with _bar(unit) as tell:
            yield tell
    else:
        yield Tenths(unit)


def passing(steps: Iterable[T], what: str = "records") -> Iterator[T]:
    """Hand on what is given, and show how much of it has gone by."""
    total = len(steps) if isinstance(steps, Sized) else None
    with progress(what) as tell:
        for done, step in enumerate(steps, start=1):
            yield step
            tell(done, total, "")


class Tenths:
    """Lines for a log file.

    Args:
        unit: what is counted.
        say: where a line goes.
        clock: seconds from some moment on.
    """

    def __init__(
        self, unit: str, say: Callable[[str], None] = message, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.unit = unit
        self.say = say
        self.clock = clock
        self.began = self.last = clock()
        self.first: int | None = None
        self.tenth = 0

    def __call__(self, done: int, total: int | None, note: str) -> None:
        """Print a line if one is due."""
        now = self.clock()
        if self.first is None:  # a run that is resumed begins in the middle
            self.first = done - 1 if done else 0
            self.tenth = 10 * self.first // total if total else 0
        tenth = 10 * done // total if total else 0
        if now - self.last < (PAUSE if tenth != self.tenth else PATIENCE):
            return
        self.tenth, self.last = tenth, now
        speed = (done - self.first) / max(now - self.began, 1e-9)
        of = f" of {total:,} ({100 * done // total} %)" if total else ""
        parts = [f"{self.unit}: {done:,}{of}", note, f"{speed:.3g}/s"]
        if total and done < total and speed:
            parts.append(f"{_clock_time((total - done) / speed)} left")
        self.say(", ".join(filter(None, parts)))


@contextmanager
def _bar(unit: str) -> Iterator[Tell]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console(stderr=True)) as bar:
        task = bar.add_task(unit, total=None, note="", rate="")

        def tell(done: int, total: int | None, note: str) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, total=total, completed=done, note=note, rate=f"{speed:.3g}/s" if speed else "")

        yield tell


def _clock_time(seconds: float) -> str:
    """Hours, minutes and seconds, without hours where there are none."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
