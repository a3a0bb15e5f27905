"""Find an object by its name: a built-in object, `FILE.py:NAME`, or an entry point of another package.

Packages can register objectives, tasks, recipes, protocols and baselines as entry points. An entry point
called `*` is a mapping of several objects. A file runs only if the user names it.
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
        what: Kind of object in words, such as `task`. It also selects the group of entry points.

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
        problem = f"isn't {article} {what}" if value is not None else f"has no {attribute}"
        raise UsageError(f"{name!r} {problem}", remedy=f"See docs/extending.md for a minimal {what}")
    return value  # type: ignore[no-any-return]


def refuse_unknown(name: str, ours: Collection[str], what: str) -> None:
    """Raise `UsageError` if a name is unknown. No object is loaded.

    If a package registers a mapping (`*`), every name is accepted, because the mapping isn't loaded. Every
    `FILE.py:NAME` is accepted, because the file isn't run.

    Args:
        name: Name of the object.
        ours: Names of built-in objects.
        what: Kind of object in words, as for `plugin`.
    """
    names = {entry.name for entry in entry_points(group=f"marecg.{what}s")}
    file, _, _ = name.rpartition(":")
    if name not in {*ours, *names} and SEVERAL not in names and not file.endswith(".py"):
        raise _nothing_named(name, [*ours, *sorted(names)], what)


def offered_names(what: str) -> list[str]:
    """Return the names of the objects of a kind, such as `recipe`, that other packages register.

    Raises `UsageError` if a mapping (`*`) can't be loaded.
    """
    if what not in _OFFERED:
        return []
    entries = entry_points(group=f"marecg.{what}s")
    return [name for entry in entries for name in (loaded(entry) if entry.name == SEVERAL else [entry.name])]


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
    """Run a file as a module, and return the module. The file runs only once."""
    spec = spec_from_file_location(f"marecg_extension_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic and pickle look up a class's module here
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        problem = f"can't be run ({type(error).__name__}: {error})"
        raise UsageError(problem, where=path, remedy="Run it with python to see the traceback") from error
    return module
