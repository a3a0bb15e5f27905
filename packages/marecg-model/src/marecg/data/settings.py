"""`--set key=value` for the preparation: any value of `CorpusConfig`, and no other."""

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from marecg.config import CorpusConfig
from marecg.errors import ConfigError


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
        try:
            values[key] = json.loads(text)
        except json.JSONDecodeError:
            values[key] = text
    try:
        return CorpusConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(first["msg"], where=f"--set {first['loc'][0]}") from error
