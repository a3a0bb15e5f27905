"""Models that were installed as packages of weights, found by name without a network.

Such a package announces folders that `save_pretrained` wrote by entry points of the group `marecg.models`,
`name = "package:folder"`. Nothing of the package is run.
"""

from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

GROUP = "marecg.models"
DEFAULT = "marecg-small"
"""The model that is meant where none is named; `pip install "marecg-model[small]"`."""


def installed(name: str) -> Path | None:
    """The folder of the model of that name, None where no package brings one."""
    for point in entry_points(group=GROUP, name=name):
        package = find_spec(point.module)
        for place in (package and package.submodule_search_locations) or ():
            folder = Path(place) / point.attr
            if folder.is_dir():
                return folder
    return None


def names() -> tuple[str, ...]:
    """The names of all installed models."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP) if installed(point.name)))
