"""Every number of a recipe has its bounds: what no run could go by is refused when it is set."""

from types import UnionType
from typing import Annotated, Union, get_args, get_origin

import pytest
from pydantic import ValidationError

from marecg.recipes.schema import Config
from marecg.settings import Settings

NO_COUNTS = {"seed", "codes_permuted", "hidden_limit"}
"""Whole numbers that are seeds, of which 0 is one, or a limit of 0."""
DIVISORS = {"tau", "tau_slow", "sigma"}
"""Real numbers that something is divided by."""


def groups(kind: type[Settings]):
    """A group of values and the groups below it."""
    yield kind
    for field in kind.model_fields.values():
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, Settings):
                yield from groups(inner)


def numbers(annotation):
    """What kind of number a value may be; one in a tuple or a mapping is none."""
    if annotation in (int, float):
        yield annotation
    elif get_origin(annotation) in (Annotated, Union, UnionType):
        for inner in get_args(annotation):
            yield from numbers(inner)


@pytest.mark.parametrize("kind", dict.fromkeys(groups(Config)))
def test_a_count_is_at_least_one_a_divisor_above_zero_and_nothing_below(kind):
    assert_bounded(kind)


def assert_bounded(kind: type[Settings]) -> None:
    """Every number of a group of values refuses what is below its bound."""
    for name, field in kind.model_fields.items():
        for number in numbers(field.annotation):
            assert_refused(kind, name, number)


def assert_refused(kind: type[Settings], name: str, number: type) -> None:
    counted = number is int and name not in NO_COUNTS
    refused = [0, -1] if counted else [0.0, -0.5] if name in DIVISORS else [-1 if number is int else -0.5]
    for value in refused:
        with pytest.raises(ValidationError, match="greater than") as error:
            kind.model_validate({name: value})
        assert error.value.errors()[0]["loc"][0] == name
