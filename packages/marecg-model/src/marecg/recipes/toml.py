"""A recipe as a TOML file: `marecg recipes c3 --format toml` writes one, `--recipe mine.toml` reads it.

A file says what is other than in its `base`, or than in C1 where it names none. A table is a group of
values, and `NAME = false` takes an objective out, because TOML has no null.
"""

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Item

from marecg.base.config import Settings, source_of
from marecg.base.errors import ConfigError, InputError, UsageError
from marecg.recipes.overrides import Change, named
from marecg.recipes.schema import Config

BASE = "base"


def read(path: Path, recipe: Callable[[str], Config]) -> tuple[Config, list[Change]]:
    """The recipe that a file begins with and what it changes, its name first: that of the file.

    Args:
        recipe: makes a recipe that has a name, for `base`.

    Raises:
        ConfigError: it isn't TOML, or its base isn't a recipe's name.
    """
    values = _parsed(path)
    start = _start(values.pop(BASE, None), recipe, f"{path}, {BASE}")
    changes = [Change(key, value, f"{path}, {key}") for key, value in _values(values, named(start))]
    return start, [Change("name", path.stem, ""), *changes]


def _start(base: object, recipe: Callable[[str], Config], where: str) -> Config:
    """What a file changes; it has a plain name, because a file that is read makes no other file run."""
    if base is None:
        return Config()
    try:
        if isinstance(base, str) and not base.endswith(".toml") and ".py:" not in base:
            return recipe(base)
    except UsageError:
        pass
    raise ConfigError(f"there is no recipe {base!r}", where=where, remedy="`marecg recipes` lists them")


def written(config: Config) -> str:
    """The text of a file with every value of a recipe, each with its source."""
    document = tomlkit.document()
    document.add(tomlkit.comment("marecg train --recipe FILE.toml; what is left out is as in recipe c1"))
    document.add("name", tomlkit.item(config.name))
    absent = [name for name in type(config).model_fields if getattr(config, name) is None]
    for name in absent:
        if getattr(Config(), name) is not None:
            document.add(name, tomlkit.item(False))
    groups = {name: group for name, group in dict(config).items() if isinstance(group, Settings)}
    for name, group in groups.items():
        values, table = group.model_dump(mode="json"), tomlkit.table()
        if group is config.model and config.model.positions == config.window_patches:
            del values["positions"]  # they follow the window
        for key, value in values.items():
            if value is not None:  # every value that may be absent is absent by default
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


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"isn't TOML ({error})", where=path) from error
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it isn't UTF-8"
        raise InputError(f"can't be read ({problem})", where=path) from error


def _values(table: Mapping[str, Any], keys: Collection[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key; None for `false` as a group."""
    groups = {name.rpartition(".")[0] for name in keys}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in keys:
            yield from _values(value, keys, f"{key}.") if value else [(key, {})]
        else:
            yield key, None if value is False and key in groups else value
