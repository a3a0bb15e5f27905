"""The objectives that aren't a field of a recipe, by name: comparators, and those of other packages."""

from functools import cache

from pydantic import ConfigDict

from marecg.base import plugins
from marecg.base.errors import ConfigError
from marecg.objectives.comparators.astcl import AstclConfig
from marecg.objectives.comparators.clocs import ClocsConfig
from marecg.objectives.comparators.crt import CrtConfig
from marecg.objectives.comparators.labels import LabelsConfig
from marecg.objectives.comparators.masked_patches import MaeConfig, StmemConfig
from marecg.objectives.comparators.momentum import ByolConfig, DinoConfig, MocoConfig
from marecg.objectives.comparators.tstcc import TstccConfig
from marecg.objectives.comparators.two_views import BarlowConfig, SimclrConfig, SimsiamConfig
from marecg.objectives.objective import ObjectiveConfig

COMPARATORS: dict[str, type[ObjectiveConfig]] = {
    "simclr": SimclrConfig,
    "byol": ByolConfig,
    "barlow": BarlowConfig,
    "simsiam": SimsiamConfig,
    "moco": MocoConfig,
    "dino": DinoConfig,
    "mae": MaeConfig,
    "stmem": StmemConfig,
    "clocs": ClocsConfig,
    "tstcc": TstccConfig,
    "astcl": AstclConfig,
    "crt": CrtConfig,
    "labels": LabelsConfig,
}
"""The values of each by the name that recipes have for it."""
GROUP = "marecg.objectives"
"""The entry points that a package announces the values of its objectives under."""


class Elsewhere(ObjectiveConfig):
    """The values of an objective that isn't installed here: enough to show a run, not to train it."""

    model_config = ConfigDict(frozen=True, extra="allow")


@cache
def installed() -> dict[str, type[ObjectiveConfig]]:
    """The values of the comparators, and of every objective that an installed package announces.

    Raises `ConfigError` where one isn't an `ObjectiveConfig`, or has the name of one of ours.
    """
    objectives = dict(COMPARATORS)
    for name, kind in plugins.installed(GROUP).items():
        if not (isinstance(kind, type) and issubclass(kind, ObjectiveConfig)):
            raise ConfigError(f"{kind!r} isn't an ObjectiveConfig", where=f"{GROUP}: {name}")
        if name in COMPARATORS:
            problem = "has the name of an objective of ours"
            raise ConfigError(problem, where=f"{GROUP}: {name}", remedy="Announce it under another name")
        objectives[name] = kind
    return objectives
