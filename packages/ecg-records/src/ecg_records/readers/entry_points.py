"""Load objects that other packages register as entry points, such as readers of records."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ecg_base import UsageError

SEVERAL = "*"
"""Name of an entry point that is a mapping from names to several objects."""


def offered(group: str, only: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the name and object of each entry point in a group.

    An entry point named `*` is a mapping, whose names and objects are yielded one by one. If `only` is given,
    entry points with other names than `only` and `*` are skipped.

    Raises `UsageError` if an entry point can't be loaded.
    """
    for entry in sorted(entry_points(group=group), key=lambda point: (point.name == SEVERAL, point.name)):
        if entry.name == SEVERAL:
            yield from loaded(entry).items()
        elif only in (None, entry.name):
            yield entry.name, loaded(entry)


def loaded(entry: EntryPoint) -> Any:
    """Return the object of an entry point. Raises `UsageError` if it can't be loaded."""
    try:
        return entry.load()
    except Exception as error:  # another package may raise anything
        problem = f"{entry.name!r} of {entry.group} can't be loaded ({error})"
        raise UsageError(
            problem, remedy=f"Repair or uninstall the package that provides {entry.value}"
        ) from error
