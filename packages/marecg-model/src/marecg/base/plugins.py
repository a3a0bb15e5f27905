"""What is known by a name: our own, `FILE.py:NAME`, or what a package offers as an entry point.

Entry points are of objectives, readers, tasks and recipes. A file is run only where a user names it.
"""

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from marecg.base.errors import UsageError

T = TypeVar("T")
_OFFERED = ("task", "recipe")


def named(name: str, ours: Mapping[str, T], kind: type[Any], what: str) -> T:
    """The thing of that name: one of `ours`, `FILE.py:NAME`, or of a task or a recipe that of an entry point.

    It must be of the `kind`, and `what` it is, in a word, is `task`, say. Raises `UsageError` where there is
    nothing of that name, it is of another kind, or it can't be loaded.
    """
    if name in ours:
        return ours[name]
    file, _, attribute = name.rpartition(":")
    offered = {each.name: each for each in entry_points(group=f"marecg.{what}s")} if what in _OFFERED else {}
    if file.endswith(".py"):
        value = getattr(_module(Path(file).resolve()), attribute, None)
    elif name in offered:
        value = _loaded(offered[name])
    else:
        choice = ", ".join([*ours, *offered])
        remedy = f"Choose one of {choice}, or name your own as FILE.py:NAME"
        raise UsageError(f"there is no {what} {name!r}", remedy=remedy)
    if not isinstance(value, kind):
        article = "an" if what[0] in "aeiou" else "a"
        problem = f"isn't {article} {what}" if value is not None else f"holds no {attribute}"
        raise UsageError(f"{name!r} {problem}", remedy=f"See docs/extending.md for the smallest {what}")
    return value  # type: ignore[no-any-return]


def installed(group: str) -> dict[str, Any]:
    """What every package offers in a group of entry points, ordered by name. Raises `UsageError`."""
    ordered = sorted(entry_points(group=group), key=lambda each: each.name)
    return {entry.name: _loaded(entry) for entry in ordered}


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # whatever another package raises
        problem = f"{entry.name!r} of {entry.group} can't be loaded ({error})"
        raise UsageError(problem, remedy=f"Mend or remove the package of {entry.value}") from error


@cache
def _module(path: Path) -> ModuleType:
    """A file, run once."""
    spec = spec_from_file_location(f"marecg_extension_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where pydantic and pickle look a class's module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        problem = f"can't be run ({type(error).__name__}: {error})"
        raise UsageError(problem, where=path, remedy="Run it with python to see where") from error
    return module
