"""Objects that other packages offer by entry points, such as readers of records."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ecg_base import UsageError

SEVERAL = "*"
"""Name of an entry point that is a mapping of names to objects."""


def offered(group: str, only: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield name and object of a group's entry points, or only of the name `only`. Raises `UsageError`."""
    for entry in sorted(entry_points(group=group), key=lambda point: (point.name == SEVERAL, point.name)):
        if entry.name == SEVERAL:
            yield from loaded(entry).items()
        elif only in (None, entry.name):
            yield entry.name, loaded(entry)


def loaded(entry: EntryPoint) -> Any:
    """Return the object of an entry point. Raises `UsageError` if its package fails."""
    try:
        return entry.load()
    except Exception as error:  # another package may raise anything
        problem = f"{entry.name!r} of {entry.group} can't be loaded ({error})"
        raise UsageError(
            problem, remedy=f"Repair or uninstall the package that provides {entry.value}"
        ) from error
