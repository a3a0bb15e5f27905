"""Read the texts of the pages from texts.toml.

The page of a record is available in several languages. Other pages are in English.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

from ecg_ontology import Concept
from ecg_ontology.views.languages import label_in
from marecg.errors import UsageError


class Texts:
    """Texts of a record's page in a language. Raises `UsageError` for an unknown language."""

    def __init__(self, language: str) -> None:
        if language not in languages():
            raise UsageError(f"language must be {' or '.join(languages())}, got {language!r}")
        self.language = language

    def __call__(self, key: str, **values: object) -> str:
        """Return the text with a key, and fill in the values."""
        text = _read()[key][self.language].format(**values)
        return text if self.language == "en" else _decimal_commas(text)

    def number(self, value: float | None, digits: int = 0) -> str:
        """Format a number for the language. None becomes a dash."""
        if value is None:
            return "–"
        text = f"{value:.{digits}f}".replace("-", "−")
        return text if self.language == "en" else _decimal_commas(text)

    def concept(self, concept: Concept) -> str:
        """Return a concept's label, followed by its abbreviation if the two differ."""
        label = label_in(concept, self.language).text
        return label if label == concept.abbr else f"{label} ({concept.abbr})"


def caption(key: str, **values: object) -> str:
    """Return the English caption with a key in texts.toml, and fill in the values."""
    return _read()["captions"][key].format(**values)


def languages() -> list[str]:
    """Return the languages of a record's page. English is the first."""
    return list(next(iter(_read().values())))


@cache
def _read() -> dict[str, dict[str, str]]:
    with Path(__file__).with_name("texts.toml").open("rb") as file:
        return tomllib.load(file)


def _decimal_commas(text: str) -> str:
    """Replace points between digits with commas."""
    return re.sub(r"(?<=\d)\.(?=\d)", ",", text)
