"""`--set key=value`: change any value of a recipe, or of a preparation, by its name, and no other."""

import difflib
import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from marecg.config import CorpusConfig, sources
from marecg.errors import ConfigError
from marecg.recipes import Config


def override(config: Config, assignments: Iterable[str]) -> Config:
    """Return the recipe with `section.key=value` applied in order; values are JSON, or else plain words.

    `gscl=null` takes an objective out of the run, `gscl={}` or any `gscl.key=…` puts it in.

    Raises:
        ConfigError: the key is unknown, the value impossible, or there is no `=`.

    Example:
        >>> from marecg.recipes import tiny
        >>> override(tiny(), ["train.max_steps=200"]).train.max_steps
        200
    """
    values = config.model_dump()
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise ConfigError(
                "has no '='", where=f"--set {assignment}", remedy="Write --set train.max_steps=200"
            )
        _assign(values, key, _parse(text), assignment)
    try:
        return type(config).model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            first["msg"].removeprefix("Value error, "), where=f"--set {key}", remedy="See marecg recipes"
        ) from error


def _assign(values: dict[str, Any], key: str, value: Any, assignment: str) -> None:
    known = {name for name, _ in sources(Config)}
    sections = {name.rsplit(".", 1)[0] for name in known if "." in name}
    if key not in known | sections:
        near = difflib.get_close_matches(key, sorted(known), n=1)
        raise ConfigError(
            f"there is no value named {key!r}",
            where=f"--set {assignment}",
            remedy=f"Did you mean {near[0]}?" if near else "marecg recipes lists them all",
        )
    *path, last = key.split(".")
    for part in path:
        if values[part] is None:
            values[part] = {}
        values = values[part]
    values[last] = value


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def with_settings(assignments: Iterable[str]) -> CorpusConfig:
    """The preparation's settings with some changed; values are JSON, or else plain words.

    Raises:
        ConfigError: the key is unknown, the value impossible, or there is no `=`.

    Example:
        >>> with_settings(["zero_limit=0.5", "rpeaks=neurokit"]).zero_limit
        0.5
    """
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or key not in CorpusConfig.model_fields:
            known = ", ".join(CorpusConfig.model_fields)
            problem = "has no '='" if not equals else f"there is no setting named {key!r}"
            raise ConfigError(problem, where=f"--set {assignment}", remedy=f"Choose from {known}")
        values[key] = _parse(text)
    try:
        return CorpusConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(first["msg"], where=f"--set {first['loc'][0]}") from error
