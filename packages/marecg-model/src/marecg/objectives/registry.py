"""Registry of objectives in other packages."""

from functools import cache

from pydantic import ConfigDict

from ecg_records.readers.entry_points import offered
from marecg.errors import ConfigError
from marecg.objectives.objective import ObjectiveConfig

GROUP = "marecg.objectives"
"""Entry-point group for the settings classes of a package's objectives."""


class Elsewhere(ObjectiveConfig):
    """Values of an objective that isn't installed. Its run can be shown, but not trained."""

    model_config = ConfigDict(frozen=True, extra="allow")


@cache
def installed() -> dict[str, type[ObjectiveConfig]]:
    """Return the settings classes of all objectives from installed packages, by name.

    Raises `ConfigError` if a class isn't an `ObjectiveConfig`, or two packages use the same name.
    """
    objectives: dict[str, type[ObjectiveConfig]] = {}
    for name, kind in offered(GROUP):
        if not (isinstance(kind, type) and issubclass(kind, ObjectiveConfig)):
            raise ConfigError(f"{kind!r} isn't an ObjectiveConfig", where=f"{GROUP}: {name}")
        if name in objectives:
            problem = "has the name of another package's objective"
            raise ConfigError(problem, where=f"{GROUP}: {name}", remedy="Register it under another name")
        objectives[name] = kind
    return objectives
