"""The command lines of MAR-ECG: `marecg` and `ecgonto`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    """Look up the version on first use, because `importlib.metadata` is slow to import."""
    if name == "__version__":
        return import_module("importlib.metadata").version("marecg-cli")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
