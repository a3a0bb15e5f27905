"""What the page of a record says, in the reader's language (`texts.toml`)."""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from marecg.base.errors import UsageError

Say = Callable[..., str]
"""Fills in the text of a key."""


def languages() -> list[str]:
    """The languages that every text is written in, English first."""
    return list(next(iter(_read().values())))


def texts(language: str) -> Say:
    """A function from a key and what is to be filled in to the text.

    Raises:
        UsageError: nothing is written in that language.
    """
    if language not in languages():
        raise UsageError(
            f"the page of a record is not written in {language!r}",
            remedy=f"Choose one of {', '.join(languages())}",
        )

    def say(key: str, **values: object) -> str:
        text = _read()[key][language].format(**values)
        return text if language == "en" else _decimal_commas(text)

    return say


def number(value: float | None, digits: int, language: str) -> str:
    """A number as it is written in a language; a dash where there is none."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}"
    return (text if language == "en" else text.replace(".", ",")).replace("-", "−")


@cache
def _read() -> dict[str, dict[str, str]]:
    with Path(__file__).with_name("texts.toml").open("rb") as file:
        return tomllib.load(file)


def _decimal_commas(text: str) -> str:
    """Points between digits as commas."""
    return "".join(
        ","
        if here == "." and text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit()
        else here
        for place, here in enumerate(text)
    )
