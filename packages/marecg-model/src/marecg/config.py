"""Every number of a run, each with its source: the paper's section, or why it was chosen.

A field's source is written where its default is: `paper(value, section)` or `chosen(value, why)`.
`sources(Config)` lists them; `marecg recipes` prints them side by side.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""The lead order of every tensor in this package."""


def paper(default: Any, where: str, **limits: Any) -> Any:
    """A value that the paper gives, with the section that gives it."""
    return Field(default, json_schema_extra={"source": f"paper {where}"}, **limits)


def chosen(default: Any, why: str, **limits: Any) -> Any:
    """A value that the paper leaves open, with the reason for ours."""
    return Field(default, json_schema_extra={"source": f"chosen: {why}"}, **limits)


class Settings(BaseModel):
    """A frozen group of values; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def sources(settings: type[Settings], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, source) for every value in a group and the groups below it."""
    for name, field in settings.model_fields.items():
        key = f"{prefix}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            yield from sources(field.annotation, f"{key}.")
        elif isinstance(field.json_schema_extra, dict):
            yield key, str(field.json_schema_extra["source"])


class CorpusConfig(Settings):
    """How records become a prepared corpus."""

    fs: int = paper(500, "§sec:values", gt=0)
    window: int = paper(4700, "§sec:values: L, the context and the trailing T_pred patches", gt=0)
