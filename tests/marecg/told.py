"""A progress that keeps what it is told."""

from collections.abc import Iterator
from contextlib import contextmanager

from marecg.base.progress import Tell


class Told:
    """What is counted, how many are done, of how many, and what else there was to say."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int | None, str]] = []

    @contextmanager
    def __call__(self, what: str) -> Iterator[Tell]:
        yield lambda done, total, note="": self.seen.append((what, done, total, note))

    @property
    def counts(self) -> list[tuple[int, int | None]]:
        """How many were done, of how many."""
        return [(done, total) for _, done, total, _ in self.seen]
