"""Registry of objectives from other packages."""

from functools import cache

from pydantic import ConfigDict

from ecg_records.readers.entry_points import offered
from marecg.errors import ConfigError
from marecg.objectives.objective import ObjectiveConfig

GROUP = "marecg.objectives"
"""Entry-point group in which a package registers the settings classes of its objectives."""


class NotInstalled(ObjectiveConfig):
    """Settings of an objective that isn't installed. A run with it can be displayed, but not trained."""

    model_config = ConfigDict(frozen=True, extra="allow")


@cache
def installed() -> dict[str, type[ObjectiveConfig]]:
    """Return the settings classes of all objectives from installed packages, by name.

    Raises `ConfigError` if a class isn't an `ObjectiveConfig`, or two packages use the same name.
    """
    objectives: dict[str, type[ObjectiveConfig]] = {}
    for name, config_class in offered(GROUP):
        if not (isinstance(config_class, type) and issubclass(config_class, ObjectiveConfig)):
            problem = f"must be a subclass of ObjectiveConfig, got {config_class!r}"
            raise ConfigError(problem, where=f"{GROUP}: {name}")
        if name in objectives:
            problem = "two packages register an objective with this name"
            raise ConfigError(problem, where=f"{GROUP}: {name}", remedy="Register it under another name")
        objectives[name] = config_class
    return objectives
