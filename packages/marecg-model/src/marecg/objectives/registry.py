"""Objectives from other packages, by the name that a recipe has for each."""

from functools import cache
from importlib.metadata import entry_points

from pydantic import ConfigDict

from marecg.errors import ConfigError
from marecg.objectives.objective import ObjectiveConfig

GROUP = "marecg.objectives"
"""The entry points that a package announces the values of its objectives under."""


class Elsewhere(ObjectiveConfig):
    """The values of an objective that isn't installed here: enough to show a run, not to train it."""

    model_config = ConfigDict(frozen=True, extra="allow")


@cache
def installed() -> dict[str, type[ObjectiveConfig]]:
    """The values of every objective that an installed package announces.

    Raises:
        ConfigError: one can't be loaded, or is no `ObjectiveConfig`.
    """
    found: dict[str, type[ObjectiveConfig]] = {}
    for entry in entry_points(group=GROUP):
        try:
            kind = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"can't be loaded ({error})", where=f"{GROUP}: {entry.name}") from error
        if not (isinstance(kind, type) and issubclass(kind, ObjectiveConfig)):
            raise ConfigError(f"{entry.value} is no ObjectiveConfig", where=f"{GROUP}: {entry.name}")
        found[entry.name] = kind
    return found
