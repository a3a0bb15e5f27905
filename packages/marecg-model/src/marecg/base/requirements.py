"""Rephrase pydantic's validation errors for users."""

import re
from collections.abc import Mapping
from typing import Any

_KINDS = {
    **{"boolean": "true or false", "integer": "a whole number", "string": "text"},
    **{"tuple": "a list", "dictionary": "a group of values"},
}


def requirement(details: Mapping[str, Any]) -> str:
    """Return a sentence that states what a value must be, and what it is.

    Args:
        details: item of `errors()` of a pydantic `ValidationError`.

    Example:
        >>> requirement({"msg": "Input should be a valid number, unable to parse", "input": "fast"})
        "must be a number, not 'fast'"
    """
    text: str = details["msg"].removeprefix("Value error, ")
    match = re.fullmatch(r"(?:Input|String) should (?:be an? valid (\w+).*|(.*))", text)
    if match is None:
        return text
    requirement_text = match[2] or f"be {_KINDS.get(match[1], f'a {match[1]}')}"
    return f"must {requirement_text}" + ("" if details["input"] is None else f", not {details['input']!r}")
