"""Lookup by name: built-in objects, `FILE.py:NAME`, and entry points of other packages.

Entry points offer objectives, tasks, recipes, protocols and baselines. An entry point called `*` is a mapping
of several objects. A file is run only if a user names it.
"""

import sys
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ecg_base import suggest
from ecg_records.readers.entry_points import SEVERAL, loaded, offered
from marecg.errors import UsageError

T = TypeVar("T")
_OFFERED = ("task", "recipe", "protocol", "baseline")


def plugin(name: str, ours: Mapping[str, T], kind: type[Any], what: str) -> T:
    """Return an object by name: from `ours`, from `FILE.py:NAME`, or from an entry point.

    Args:
        name: Name of the object.
        ours: Built-in objects by name.
        kind: Type that the object must have.
        what: Word for the object, such as `task`. It selects the group of entry points.

    Raises:
        UsageError: If the name is unknown, the object has another type, or it can't be loaded.
    """
    if name in ours:
        return ours[name]
    file, _, attribute = name.rpartition(":")
    if file.endswith(".py"):
        value = getattr(_module(Path(file).resolve()), attribute, None)
    elif name in (names := offered_names(what)):
        value = dict(offered(f"marecg.{what}s", name))[name]
    else:
        raise _nothing_named(name, [*ours, *names], what)
    if not isinstance(value, kind):
        article = "an" if what[0] in "aeiou" else "a"
        problem = f"isn't {article} {what}" if value is not None else f"holds no {attribute}"
        raise UsageError(f"{name!r} {problem}", remedy=f"See docs/extending.md for the smallest {what}")
    return value  # type: ignore[no-any-return]


def refuse_unknown(name: str, ours: Collection[str], what: str) -> None:
    """Refuse a name that neither `ours` nor another package has, without loading an object.

    A mapping of several objects (`*`) isn't loaded, so that its package decides later.
    """
    names = {entry.name for entry in entry_points(group=f"marecg.{what}s")}
    file, _, _ = name.rpartition(":")
    if name not in {*ours, *names} and SEVERAL not in names and not file.endswith(".py"):
        raise _nothing_named(name, [*ours, *sorted(names)], what)


def offered_names(what: str) -> list[str]:
    """Return the names of a group of entry points, such as `recipe`. Raises `UsageError`."""
    if what not in _OFFERED:
        return []
    entries = entry_points(group=f"marecg.{what}s")
    return [name for one in entries for name in (loaded(one) if one.name == SEVERAL else [one.name])]


def _nothing_named(name: str, choice: list[str], what: str) -> UsageError:
    listed = "marecg recipes lists them" if what == "recipe" else f"Choose from {', '.join(choice)}"
    own = "your own as FILE.py:NAME"
    if what == "task":
        own = f"a table of labels as FILE.csv, or {own}"
    first = next((known for known in choice if known.startswith(f"{name}-")), name)
    remedy = suggest(first, choice, f"{listed}, or name {own}")
    return UsageError(f"unknown {what} {name!r}", remedy=remedy)


@cache
def _module(path: Path) -> ModuleType:
    """Return the module of a file. The file runs only once."""
    spec = spec_from_file_location(f"marecg_extension_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic and pickle look up a class's module here
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        problem = f"can't be run ({type(error).__name__}: {error})"
        raise UsageError(problem, where=path, remedy="Run it with python to see where") from error
    return module
