"""The objectives that are no field of a recipe, by name: comparators, and those of other packages."""

from functools import cache
from importlib.metadata import entry_points

from pydantic import ConfigDict

from marecg.errors import ConfigError
from marecg.objectives.comparators import COMPARATORS
from marecg.objectives.objective import ObjectiveConfig

GROUP = "marecg.objectives"
"""The entry points that a package announces the values of its objectives under."""


class Elsewhere(ObjectiveConfig):
    """The values of an objective that isn't installed here: enough to show a run, not to train it."""

    model_config = ConfigDict(frozen=True, extra="allow")


@cache
def installed() -> dict[str, type[ObjectiveConfig]]:
    """The values of the comparators, and of every objective that an installed package announces.

    Raises:
        ConfigError: one can't be loaded, is no `ObjectiveConfig`, or has the name of one of ours.
    """
    found = dict(COMPARATORS)
    for entry in entry_points(group=GROUP):
        try:
            kind = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"can't be loaded ({error})", where=f"{GROUP}: {entry.name}") from error
        if not (isinstance(kind, type) and issubclass(kind, ObjectiveConfig)):
            raise ConfigError(f"{entry.value} is no ObjectiveConfig", where=f"{GROUP}: {entry.name}")
        if entry.name in COMPARATORS:
            raise ConfigError(
                "has the name of an objective of ours",
                where=f"{GROUP}: {entry.name}",
                remedy="Announce it under another name",
            )
        found[entry.name] = kind
    return found
