"""`--set key=value`: change any value of a recipe, or of a preparation, by its name, and no other."""

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from marecg.config import CorpusConfig, sources
from marecg.errors import ConfigError
from marecg.objectives.registry import installed
from marecg.recipes import Config


def override(config: Config, assignments: Iterable[str]) -> Config:
    """Return the recipe with `section.key=value` applied in order; values are JSON, or else plain words.

    `gscl=null` takes an objective out of the run, `gscl={}` or any `gscl.key=…` puts it in. Where the recipe
    has as many positions as its window has patches, it goes on having them.

    Raises:
        ConfigError: the key is unknown, the value impossible, or there is no `=`.

    Example:
        >>> from marecg.recipes import tiny
        >>> override(tiny(), ["train.max_steps=200"]).train.max_steps
        200
    """
    assignments = list(assignments)
    values = config.model_dump()
    kinds = installed() | {name: type(config.objectives[name]) for name in config.model_extra or {}}
    known = {name for name, _ in sources(type(config))}
    known |= {name for prefix, kind in kinds.items() for name, _ in sources(kind, f"{prefix}.")}
    if config.model.positions == config.window_patches:
        del values["model"]["positions"]
    for key, value, assignment in _read(assignments, known):
        *path, last = key.split(".")
        section = values
        for part in path:
            if section.get(part) is None:
                section[part] = {}
            section = section[part]
            if not isinstance(section, dict):
                raise ConfigError("is set to no group of values before", where=f"--set {assignment}")
        section[last] = value
    try:
        return type(config).model_validate(values, context={"kinds": kinds})
    except ValidationError as error:
        raise _refused(error, assignments, known) from error


def with_settings(assignments: Iterable[str]) -> CorpusConfig:
    """The preparation's settings with some changed; values are JSON, or else plain words.

    Raises:
        ConfigError: the key is unknown, the value impossible, or there is no `=`.

    Example:
        >>> with_settings(["zero_limit=0.5", "rpeaks=neurokit"]).zero_limit
        0.5
    """
    assignments = list(assignments)
    known = set(CorpusConfig.model_fields)
    values = {key: value for key, value, _ in _read(assignments, known)}
    try:
        return CorpusConfig.model_validate(values)
    except ValidationError as error:
        raise _refused(error, assignments, known) from error


def _read(assignments: Iterable[str], known: set[str]) -> Iterator[tuple[str, Any, str]]:
    """Each assignment's key and value; a key is a value's name, or that of a group of them."""
    groups = {name.rpartition(".")[0] for name in known} - {""}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(
                "has no '='", where=f"--set {assignment}", remedy=f"Write --set {min(known)}=VALUE"
            )
        if key not in known | groups:
            near = difflib.get_close_matches(key, sorted(known), n=1)
            raise ConfigError(
                f"there is no value named {key!r}",
                where=f"--set {assignment}",
                remedy=f"Did you mean {near[0]}?" if near else _listed(known),
            )
        yield key, _parsed(text), assignment


def _listed(known: set[str]) -> str:
    few = all("." not in name for name in known)
    return f"Choose from {', '.join(sorted(known))}" if few else "marecg recipes NAME lists them all"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _refused(error: ValidationError, assignments: list[str], known: set[str]) -> ConfigError:
    """What was wrong, at the key that pydantic names, or at all that were set where it names none."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return ConfigError(
        message,
        where=f"--set {key}" if key in known else " ".join(f"--set {each}" for each in assignments),
        remedy=_listed(known),
    )
