"""Show progress: a bar on a terminal, or lines in a log file.

A log file gets a line per tenth of the work. It also gets a line after five seconds, then whenever the
elapsed time has doubled, and at least every ten minutes. Lines are at least five seconds apart. If the logger
`marecg` doesn't show warnings, as with -q, nothing is shown.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

logger = logging.getLogger("marecg.progress")
PAUSE = 5.0
"""Minimum seconds between two lines in a log file, so that short work prints nothing."""
LONGEST_PAUSE_S = 600.0
"""Maximum seconds between two lines in a log file, even if no tenth was completed."""
T = TypeVar("T")


class Tell(Protocol):
    """Function that updates a progress display."""

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Report the number of finished items, the total number if it is known, and a note."""


Progress = Callable[[str], AbstractContextManager[Tell]]
"""Function that opens a progress display for a `with` block.

Its argument is the plural noun for the items, such as `records`. The name of the step may come before it:
`features: records`. `shown` and `silent` are the two implementations.
"""


@contextmanager
def silent(_what: str) -> Iterator[Tell]:
    """Open a progress display that shows nothing, for functions with the argument `progress`."""
    yield lambda done, total, note="": None


@contextmanager
def shown(what: str) -> Iterator[Tell]:
    """Show progress on stderr. If stderr can't be written, for example on a full disk, continue silently.

    Args:
        what: Plural noun for the items, such as `records`.
    """
    if not logging.getLogger("marecg").isEnabledFor(logging.WARNING):
        with silent(what) as tell_nobody:
            yield tell_nobody
        return
    show: Tenths | _Bar | None = _Bar(what) if sys.stderr.isatty() else Tenths(what)

    def attempt(action: Callable[[], None]) -> None:
        nonlocal show
        try:
            action()
        except OSError as error:
            show = None
            logger.warning("the progress bar ends: stderr can't be written (%s)", error.strerror)

    def tell(done: int, total: int | None, note: str = "") -> None:
        if show is not None:
            attempt(lambda: show(done, total, note))

    try:
        yield tell
    finally:
        if isinstance(show, _Bar):
            attempt(show.bar.stop)


def passing(steps: Iterable[T], what: str, progress: Progress = shown) -> Iterator[T]:
    """Yield the items of an iterable, and show the number of finished items.

    Args:
        steps: Items. If they have a length, the display also shows their total number.
        what: Plural noun for the items, such as `records`.
        progress: Function that opens the display: `shown` or `silent`.
    """
    total = len(steps) if isinstance(steps, Sized) else None
    with progress(what) as tell:
        for done, step in enumerate(steps, start=1):
            yield step
            tell(done, total)


class Tenths:
    """Progress display for a log file, with a line per tenth of the items.

    Args:
        what: Plural noun for the items, such as `records`.
        say: Function that prints a line. The default prints to stderr.
        clock: Function that returns the time in seconds.
    """

    def __init__(
        self, what: str, say: Callable[[str], None] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.step, _, self.items = what.rpartition(": ")
        self.clock = clock
        self.say = say or (lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201 (progress is printed)
        self.began = self.last = clock()
        self.first: int | None = None
        self.tenth = 0

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Print a line if it is time for a line."""
        now = self.clock()
        if self.first is None:  # a resumed run begins in the middle
            self.first = done - 1 if done else 0
            self.tenth = 10 * self.first // total if total else 0
        tenth = 10 * done // total if total else 0
        pause_s = min(max(PAUSE, self.last - self.began), LONGEST_PAUSE_S)
        if now - self.last < (PAUSE if tenth != self.tenth else pause_s):
            return
        self.tenth, self.last = tenth, now
        speed = (done - self.first) / max(now - self.began, 1e-9)
        count = f"{done:,} of {total:,}" if total else f"{done:,}"
        counted = f"{self.step}: {count} {self.items}" if self.step else f"{self.items}: {count}"
        percent = f" ({100 * done // total} %)" if total else ""
        parts = [counted + percent, note, f"{speed:.3g}/s" if speed else ""]
        if total and done < total and speed:
            parts.append(f"{_clock_time((total - done) / speed)} left")
        self.say(", ".join(filter(None, parts)))


class _Bar:
    """Progress bar from the library rich, drawn in the caller's thread.

    If rich drew the bar in a separate thread, an error on writing to stderr would be raised in that thread,
    where the caller couldn't handle it.
    """

    def __init__(self, what: str) -> None:
        from rich.console import Console  # noqa: PLC0415 (a log needs no bar)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415
        from rich.table import Column  # noqa: PLC0415

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", table_column=Column(ratio=1, no_wrap=True)),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, expand=True)
        self.task = self.bar.add_task(what, total=None, note="", rate="")
        self.drawn = 0.0
        self.bar.start()

    def __call__(self, done: int, total: int | None, note: str = "") -> None:
        """Draw the bar, at most ten times a second."""
        speed, now = self.bar.tasks[0].speed, time.monotonic()
        rate = f"{speed:.3g}/s" if speed else ""
        self.bar.update(self.task, total=total, completed=done, note=note, rate=rate)
        if now - self.drawn > 0.1 or done == total:
            self.drawn = now
            self.bar.refresh()


def _clock_time(seconds: float) -> str:
    """Format seconds as h:mm:ss, or as m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
