"""Settings of a run, each with its source: the paper's section, or the reason for the choice.

A field's default and source are written together: `paper(value, section)` or `chosen(value, why)`. Each
subpackage defines the settings that it reads. Together they form a recipe (`marecg.recipes`).
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

SECTIONS = {
    "sec:values": "Notation values",
    "subsec:auxiliary": "Auxiliary Self-Supervisory Components",
    "subsec:graph-structure": "Two-Tier Vocabulary and Edge Sets",
    "subsec:gscl": "Graph-Smoothed Contrastive Learning",
    "subsec:implementation": "Implementation Details",
    "subsec:multiscale-sca": "Multi-Scale Physiological Supervision",
    "subsec:pretrain-corpus": "Pretraining Corpus",
    "subsec:tree-distance": "Tree-Distance Matrix",
}
"""Headings of the paper's sections by label. The sources of values refer to sections by these labels."""


def paper(default: Any = PydanticUndefined, section: str = "", **limits: Any) -> Any:
    """Declare a field of `Settings` whose default is stated in the paper.

    Args:
        default: The default.
        section: Section of the paper that states it: a heading, or § and a label of `SECTIONS`.
        **limits: Limits of the value, as for `pydantic.Field`.
    """
    return Field(default, json_schema_extra={"source": f"paper, {_with_headings(section)}"}, **limits)


def chosen(default: Any, why: str, **limits: Any) -> Any:
    """Declare a field of `Settings` whose default isn't stated in the paper.

    Args:
        default: The default.
        why: Reason for the choice.
        **limits: Limits of the value, as for `pydantic.Field`.
    """
    return Field(default, json_schema_extra={"source": f"chosen: {_with_headings(why)}"}, **limits)


def _with_headings(text: str) -> str:
    """Replace labels of the paper's sections with the headings."""
    return re.sub(r"§(\w+:[\w-]+)?", lambda label: SECTIONS[label[1]] if label[1] else "", text)


class Frozen(BaseModel):
    """Immutable pydantic model that refuses unknown fields and numbers that aren't finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Share = Annotated[float, Field(ge=-1e-9, le=1 + 1e-9)]
"""A share or a probability. Means may exceed 0 and 1 by a rounding error."""
Count = Annotated[int, Field(ge=0)]
"""A count, at least 0."""
FromZero = Annotated[float, Field(ge=0)]
"""A number that can't be negative, such as a standard deviation, a loss or a duration."""


class Settings(Frozen):
    """Group of settings in which every value has a source."""


def sources(settings: type[Settings], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted key, source) for every value in a group and its nested groups."""
    for name, field in settings.model_fields.items():
        key = f"{prefix}{name}"
        types = (field.annotation, *get_args(field.annotation))
        groups = [cls for cls in types if isinstance(cls, type) and issubclass(cls, Settings)]
        for group in groups:
            yield from sources(group, f"{key}.")
        if not groups:
            yield key, _source(field)


def source_of(group: Settings, key: str) -> str:
    """Return the source of a value. If the value was changed, name the default and the default's source."""
    source = dict(sources(type(group))).get(key, "")
    field = type(group).model_fields.get(key)
    if field is None or field.default_factory is not None or getattr(group, key) == field.default:
        return source
    return f"other than {field.default} ({source})"


def _source(field: FieldInfo) -> str:
    """Return the source of a value, or its description if another package declared no source."""
    if field.description:
        return f"chosen: {field.description}"
    assert isinstance(field.json_schema_extra, dict)
    return str(field.json_schema_extra["source"])
