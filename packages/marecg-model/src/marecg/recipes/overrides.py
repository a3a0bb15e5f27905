"""Change settings by `--set key=value`, and recipes also by a TOML file.

`marecg recipes c3 --format toml` prints a TOML file with all settings, and `--recipe mine.toml` reads a file.
A file needs only the settings that differ from the recipe named by its key `base`, which is C1 by default. A
TOML table is a group of settings. `NAME = false` removes the group NAME, such as an objective, because TOML
has no null.
"""

import difflib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import tomlkit
from pydantic import ValidationError
from tomlkit.items import Item

from ecg_base import suggest
from ecg_records.storage.documents import read_toml
from marecg.base.plugins import plugin
from marecg.base.requirements import requirement
from marecg.errors import ConfigError, UnknownSettingError, UsageError
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.registry import installed
from marecg.recipes.named import base, c1, c1_gscl, c2, c2p, c3, small, small_graph, tiny
from marecg.recipes.schema import Config
from marecg.settings import Settings, source_of, sources

Group = TypeVar("Group", bound=Settings)
RECIPES: dict[str, Callable[[], Config]] = {
    **{"c1": c1, "c1-gscl": c1_gscl, "c2p": c2p, "c2": c2, "c3": c3},
    "small": small,
    "small-c1": partial(small, c1, "small-c1"),
    "small-gscl": partial(small, c1_gscl, "small-gscl"),
    "small-graph": small_graph,
    "small-c2p": partial(small, c2p, "small-c2p"),
    "small-c2": partial(small, c2, "small-c2"),
    "base": base,
    "tiny": tiny,
    "tiny-c1": partial(tiny, c1, "tiny-c1"),
    "tiny-c2p": partial(tiny, c2p, "tiny-c2p"),
    "tiny-c2": partial(tiny, c2, "tiny-c2"),
    "tiny-c3": partial(tiny, c3, "tiny-c3"),
}
"""Recipes by the names that `marecg train --recipe` accepts."""


class Change(NamedTuple):
    """Change of a setting.

    Attributes:
        key: dotted key of the setting.
        value: new value.
        where: origin of the change, which error messages name.
    """

    key: str
    value: Any
    where: str


def by_name(name: str, changes: Iterable[str | Change] = ()) -> Config:
    """Return a recipe by its name, with changes.

    Args:
        name: name of a recipe (built in, or an entry point of another package), a TOML file, or
            `FILE.py:NAME` for the function NAME in a Python file. The function returns a `Config`.
        changes: changes as for `override`. They are applied after the changes in a TOML file.

    Raises:
        ConfigError: If the recipe's function fails or doesn't return a `Config`, or if the TOML file or a
            change is invalid.
        UsageError: If there is no recipe with this name.

    Example:
        >>> by_name("tiny-c3").model.width
        64
    """
    if name.endswith(".toml"):
        start, of_file = read_recipe(Path(name))
        return override(start, [*of_file, *changes])
    make: Callable[[], object] = plugin(name, RECIPES, Callable, "recipe")  # type: ignore[arg-type]
    try:
        config = make()
    except Exception as error:
        raise ConfigError(f"fails ({type(error).__name__}: {error})", where=name) from error
    if not isinstance(config, Config):
        raise ConfigError(f"returns {type(config).__name__}, not a Config", where=name)
    return override(config, changes)


def override(config: Config, changes: Iterable[str | Change]) -> Config:
    """Return a recipe with changes `section.key=value`, applied in order.

    A value that isn't JSON is plain text. `gscl=null` removes an objective, and `gscl={}` or any `gscl.key=…`
    adds it. If `model.positions` equals the number of patches in a record window, it is computed anew from
    the changed settings. A number for `train.accumulate` replaces `train.global_batch_size`, and vice versa.

    Raises `ConfigError` if a key is unknown, a value is invalid, or `=` is missing.

    Example:
        >>> override(tiny(), ["train.max_steps=200"]).train.max_steps
        200
    """
    values, keys = config.model_dump(), dotted_keys(config)
    read = [item if isinstance(item, Change) else _read(item, keys) for item in changes]
    if not read:
        return config
    if config.model.positions == config.window_patches:
        del values["model"]["positions"]
    numbers = {change.key for change in read if change.value is not None}
    for changed, replaced in (("accumulate", "global_batch_size"), ("global_batch_size", "accumulate")):
        if f"train.{changed}" in numbers:
            values["train"][replaced] = None
    for key, value, where in read:
        _refuse_unknown(key, keys, where)
        *path, last = key.split(".")
        section = values
        for part in path:
            if section.get(part) is None:
                section[part] = {}
            section = section[part]
            if not isinstance(section, dict):
                raise ConfigError("can't be set: an earlier setting has removed its group", where=where)
        section[last] = _typed(value)
    context = {"kinds": _plugin_groups(config), "strict": True}
    try:
        return type(config).model_validate(values, strict=True, context=context)
    except ValidationError as error:
        raise _refused(error, read) from error


def _typed(value: Any) -> Any:
    """Convert a value to a type that settings accept: lists to tuples, and whole numbers to integers."""
    if isinstance(value, list):
        return tuple(map(_typed, value))
    if isinstance(value, float):
        integral = value.is_integer()
        return int(value) if integral else value if math.isfinite(value) else str(value)  # refused later on
    return value


def dotted_keys(config: Config) -> set[str]:
    """Return the dotted keys of all settings, including the settings of installed objectives."""
    keys = {name for name, _ in sources(type(config))}
    for objective, group in _plugin_groups(config).items():
        keys |= {name for name, _ in sources(group, f"{objective}.")}
    return keys


def _plugin_groups(config: Config) -> dict[str, type[ObjectiveConfig]]:
    """Return the settings classes of all objectives that aren't built in, by name."""
    return installed() | {name: type(config.objectives[name]) for name in config.model_extra or {}}


def with_settings(group: type[Group], assignments: Iterable[str]) -> Group:
    """Build a group of settings from assignments `key=value`, which are parsed as in `override`.

    Example:
        >>> from marecg.corpus.config import CorpusConfig
        >>> with_settings(CorpusConfig, ["zero_limit=0.5", "rpeaks=neurokit"]).zero_limit
        0.5
    """
    keys = set(group.model_fields)
    changes = [_read(assignment, keys) for assignment in assignments]
    try:
        return group.model_validate({key: value for key, value, _ in changes})
    except ValidationError as error:
        raise _refused(error, changes) from error


def _read(assignment: str, keys: set[str]) -> Change:
    """Read an assignment `key=value`. A value that isn't JSON is plain text."""
    key, equals, text = assignment.partition("=")
    where = f"--set {assignment}"
    if not equals:
        raise ConfigError("has no '='", where=where, remedy=f"Write --set {min(keys)}=VALUE")
    _refuse_unknown(key, keys, where)
    return Change(key, parsed(text), where)


def _refuse_unknown(key: str, keys: set[str], where: str) -> None:
    """Raise `UnknownSettingError` if a key is neither a setting nor a group of settings."""
    groups = {name.rpartition(".")[0] for name in keys} - {""}
    if key in keys | groups:
        return
    group, dot, rest = key.partition(".")
    choices: Collection[str] = keys
    if dot and groups and group not in groups:  # only suggest the same setting in a group of a similar name
        choices = {f"{close}.{rest}" for close in difflib.get_close_matches(group, groups, n=1)}
    hint = "To use an objective of your own, install its package, or name a recipe that contains it"
    listed = f"marecg recipes NAME lists all settings. {hint}" if groups else ""
    similar = [known for known in sorted(keys) if known.rpartition(".")[2] in (key, f"max_{key}")]
    remedy = f"Did you mean {' or '.join(similar)}?" if similar else suggest(key, sorted(choices), listed)
    raise UnknownSettingError(key, where=where, remedy=remedy)


def parsed(text: str) -> Any:
    """Parse a value from the command line: JSON, `True` or `False`. Return any other text unchanged."""
    try:
        return json.loads({"True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _refused(error: ValidationError, changes: Iterable[Change]) -> ConfigError:
    """Build the error for an invalid value. The error names the change that set the value, or all changes."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = requirement(first)
    culprits = [change for change in changes if key == change.key or key.startswith(f"{change.key}.")]
    if not culprits:
        return ConfigError(
            message, where=" ".join(dict.fromkeys(change.where for change in changes if change.where))
        )
    if culprits[-1].where.startswith("--set "):  # which would repeat the key and the value
        return ConfigError(f"{culprits[-1].key} {message}" if message.startswith("must ") else message)
    return ConfigError(message, where=culprits[-1].where)


def read_recipe(path: Path) -> tuple[Config, list[Change]]:
    """Read a TOML file, and return its base recipe and its changes.

    The first change sets the recipe's name to the file's name without suffix. If the file sets `name`, a
    later change sets that name.
    """
    values = read_toml(path, "Name a recipe or a recipe's TOML file", syntax=ConfigError)
    start = _start(values.pop("base", "c1"), f"{path}, base")
    changes = [Change(key, value, f"{path}, {key}") for key, value in _values(values, dotted_keys(start))]
    return start, [Change("name", path.stem, ""), *changes]


def _start(name: object, where: str) -> Config:
    """Return the base recipe of a TOML file. It must be a plain name, because a file must not run another."""
    try:
        if isinstance(name, str) and not name.endswith(".toml") and ".py:" not in name:
            return by_name(name)
    except UsageError:
        pass
    remedy = suggest(str(name), RECIPES, "marecg recipes lists them")
    raise ConfigError(f"unknown recipe {name!r}", where=where, remedy=remedy)


def as_toml(config: Config) -> str:
    """Return the text of a TOML file with a recipe's settings, each with its source as a comment.

    Settings that are None are left out. A group of settings that is None, but not in C1, is written as
    `false`. `model.positions` is left out if it follows from the window.
    """
    document = tomlkit.document()
    document.add(tomlkit.comment("marecg train --recipe FILE.toml. Settings left out are as in recipe c1."))
    document.add("name", tomlkit.item(config.name))
    absent = [name for name in type(config).model_fields if getattr(config, name) is None]
    for name in absent:
        if getattr(Config(), name) is not None:
            document.add(name, tomlkit.item(False))
    groups = {name: group for name, group in dict(config).items() if isinstance(group, Settings)}
    for name, group in groups.items():
        values, table = group.model_dump(mode="json"), tomlkit.table()
        if group is config.model and config.model.positions == config.window_patches:
            del values["positions"]  # positions follow the window
        for key, value in values.items():
            if value is not None:  # TOML has no null. None is the default of every optional value.
                table.add(key, _item(value).comment(source_of(group, key)))
        document.add(name, table)
    return tomlkit.dumps(document)


def _item(value: Any) -> Item:
    if isinstance(value, dict):
        item: Item = tomlkit.inline_table()
        item.update(value)  # type: ignore[attr-defined]
    else:
        item = tomlkit.item(value)
    return item


def _values(table: Mapping[str, Any], keys: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values with their dotted keys. `false` for a group becomes None."""
    groups = {name.rpartition(".")[0] for name in keys}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in keys:
            yield from _values(value, keys, f"{key}.") if value else [(key, {})]
        else:
            yield key, None if value is False and key in groups else value
