"""The models of the package marecg-small, found by name without a network; nothing of the package is run."""

from importlib.util import find_spec
from pathlib import Path

DEFAULT = "marecg-small"
"""The model that is meant where none is named; `pip install "marecg-model[small]"`."""
FOLDERS = {DEFAULT: "without_ptbxl_codes", "marecg-small-codes": "with_ptbxl_codes"}


def installed(name: str) -> Path | None:
    """The folder of the model of that name, None where the package isn't installed."""
    package = find_spec("marecg_small") if name in FOLDERS else None
    for place in (package and package.submodule_search_locations) or ():
        return Path(place) / FOLDERS[name]
    return None


def names() -> tuple[str, ...]:
    """The names of all installed models."""
    return tuple(name for name in FOLDERS if installed(name))
