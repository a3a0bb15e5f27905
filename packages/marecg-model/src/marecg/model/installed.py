"""The models of the package marecg-small, found by name without a network; nothing of the package is run."""

from importlib.util import find_spec
from pathlib import Path

DEFAULT = "marecg-small-codes"
"""What reads a user's records where no model is named, since it learnt from the most statements; a probe
takes `marecg-small`, which has seen no code of PTB-XL. `pip install "marecg-model[small]"`."""
FOLDERS = {"marecg-small": "without_ptbxl_codes", DEFAULT: "with_ptbxl_codes"}


def installed(name: str) -> Path | None:
    """The folder of the model of that name, None where the package isn't installed."""
    package = find_spec("marecg_small") if name in FOLDERS else None
    for place in (package and package.submodule_search_locations) or ():
        return Path(place) / FOLDERS[name]
    return None


def names() -> tuple[str, ...]:
    """The names of all installed models."""
    return tuple(name for name in FOLDERS if installed(name))
