"""`--set key=value`: change any value of a recipe, or of a preparation, by its name, and no other."""

import difflib
import json
import math
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from marecg.base.config import Settings, sources
from marecg.base.errors import ConfigError
from marecg.objectives.objective import ObjectiveConfig
from marecg.objectives.registry import installed
from marecg.recipes.schema import Config

Group = TypeVar("Group", bound=Settings)


class Change(NamedTuple):
    """A value by its dotted key, and where it was said, for errors."""

    key: str
    value: Any
    where: str


def override(config: Config, changes: Iterable[str | Change]) -> Config:
    """Return the recipe with `section.key=value` applied in order; values are JSON, or else plain words.

    `gscl=null` takes an objective out of the run, `gscl={}` or any `gscl.key=…` puts it in. Where the recipe
    has as many positions as its window has patches, it goes on having them.

    Args:
        changes: as on a command line, or read already.

    Raises:
        ConfigError: a key is unknown, a value impossible or of another type, or there is no `=`.

    Example:
        >>> from marecg.recipes import tiny
        >>> override(tiny(), ["train.max_steps=200"]).train.max_steps
        200
    """
    values, kinds, keys = config.model_dump(), _kinds(config), named(config)
    read = [each if isinstance(each, Change) else _read(each, keys) for each in changes]
    if not read:
        return config
    if config.model.positions == config.window_patches:
        del values["model"]["positions"]
    for key, value, where in read:
        _refuse_unknown(key, keys, where)
        *path, last = key.split(".")
        section = values
        for part in path:
            if section.get(part) is None:
                section[part] = {}
            section = section[part]
            if not isinstance(section, dict):
                raise ConfigError("is set to no group of values before", where=where)
        section[last] = _typed(value)
    try:
        return type(config).model_validate(values, strict=True, context={"kinds": kinds, "strict": True})
    except ValidationError as error:
        raise _refused(error, read, keys) from error


def _typed(value: Any) -> Any:
    """As the settings have it: a tuple for a list, an integer for a whole number, which is a float's too."""
    if isinstance(value, list):
        return tuple(map(_typed, value))
    if isinstance(value, float):
        whole = value.is_integer()
        return int(value) if whole else value if math.isfinite(value) else str(value)  # which none may be
    return value


def named(config: Config) -> set[str]:
    """The dotted key of every value that a recipe can have."""
    keys = {name for name, _ in sources(type(config))}
    return keys | {name for prefix, kind in _kinds(config).items() for name, _ in sources(kind, f"{prefix}.")}


def _kinds(config: Config) -> dict[str, type[ObjectiveConfig]]:
    return installed() | {name: type(config.objectives[name]) for name in config.model_extra or {}}


def with_settings(kind: type[Group], assignments: Iterable[str]) -> Group:
    """A group of settings with some changed; values are JSON, or else plain words.

    Raises:
        ConfigError: the key is unknown, the value impossible, or there is no `=`.

    Example:
        >>> from marecg.base.config import CorpusConfig
        >>> with_settings(CorpusConfig, ["zero_limit=0.5", "rpeaks=neurokit"]).zero_limit
        0.5
    """
    keys = set(kind.model_fields)
    changes = [_read(assignment, keys) for assignment in assignments]
    try:
        return kind.model_validate({key: value for key, value, _ in changes})
    except ValidationError as error:
        raise _refused(error, changes, keys) from error


def _read(assignment: str, keys: set[str]) -> Change:
    """A key and its value: JSON, or else plain words."""
    key, equals, text = assignment.partition("=")
    where = f"--set {assignment}"
    if not equals:
        raise ConfigError("has no '='", where=where, remedy=f"Write --set {min(keys)}=VALUE")
    _refuse_unknown(key, keys, where)
    return Change(key, parsed(text), where)


def _refuse_unknown(key: str, keys: set[str], where: str) -> None:
    """Refuse a key that isn't a value's name, nor that of a group of them."""
    groups = {name.rpartition(".")[0] for name in keys} - {""}
    if key in keys | groups:
        return
    group, dot, rest = key.partition(".")
    if dot and group not in groups:  # the right value of a misspelt group, not any group's value of that name
        near = [f"{each}.{rest}" for each in difflib.get_close_matches(group, sorted(groups), n=1)]
    else:
        near = difflib.get_close_matches(key, sorted(keys), n=1)
    raise ConfigError(
        f"there is no value named {key!r}",
        where=where,
        remedy=f"Did you mean {near[0]}?" if near else _listed(keys),
    )


def _listed(keys: set[str]) -> str:
    few = all("." not in name for name in keys)
    if few:
        return f"Choose from {', '.join(sorted(keys))}"
    own = "an objective of yours is known to the recipe in its file, or once its package is installed"
    return f"marecg recipes NAME lists them all; {own}"


def parsed(text: str) -> Any:
    """A value as it is written on a command line: JSON, or else plain words."""
    try:
        return json.loads({"True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _refused(error: ValidationError, changes: Iterable[Change], keys: set[str]) -> ConfigError:
    """What was wrong, where the key that pydantic names was set, or at all changes where it names none."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    places = [change.where for change in changes if key == change.key or key.startswith(f"{change.key}.")]
    everything = " ".join(dict.fromkeys(change.where for change in changes if change.where))
    return ConfigError(message, where=places[-1] if places else everything, remedy=_listed(keys))
