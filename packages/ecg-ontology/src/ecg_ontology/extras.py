"""Libraries that only some of the package needs."""

from importlib import import_module
from typing import Any

from ecg_ontology.errors import UsageError


def optional(module: str, problem: str, remedy: str) -> Any:
    """Import a module that need not be installed. Raises `UsageError` where it isn't."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(problem, remedy=remedy) from error
