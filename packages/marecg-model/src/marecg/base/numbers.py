"""Checks of numbers that were read from files."""

from sys import float_info
from typing import Any

from marecg.errors import InputError


def refuse_impossible(
    values: Any,
    what: str,
    where: object,
    remedy: str,
    error: type[InputError] = InputError,
    *,
    least: float = -float_info.max,
    most: float = float_info.max,
) -> None:
    """Check that the numbers in an array or a tensor are finite and within bounds. Raises `error`."""
    if not all(values.shape):
        return
    ends = float(values.min()), float(values.max())  # if there is a NaN, both are NaN
    if wrong := [value for value in ends if not least <= value <= most]:
        raise error(f"{what} has a number that can't be: {wrong[0]:g}", where=where, remedy=remedy)
