"""Convert durations such as "10s" to seconds."""

import re

from marecg.errors import UsageError

DURATION = r"[1-9]\d*(\.\d+)?(s|min|h)"
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """Convert a duration such as "1.5min" to seconds. Raises `UsageError` for any other text.

    Example:
        >>> seconds_of("10s"), seconds_of("1.5min"), seconds_of("1h")
        (10.0, 90.0, 3600.0)
    """
    match = re.fullmatch(DURATION, text.strip())
    if match is None:
        raise UsageError(f"a duration must look like 10s, 1min or 1h, got {text!r}")
    return float(match[0].removesuffix(match[2])) * _SECONDS[match[2]]
