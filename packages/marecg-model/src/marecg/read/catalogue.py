"""The datasets that are read by name: what they are, where they come from, and what of them is on disk."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from ecg_ontology import suggest
from marecg.base.config import Frozen
from marecg.base.errors import UsageError


class Dataset(Frozen):
    """One dataset of `datasets/catalogue.toml`, which explains the fields; None: not known for certain."""

    name: str
    title: str
    records: int
    licence: str | None = None
    size: float | None = None
    codes: str = ""
    sources: tuple[str, ...]
    home: str
    host: Literal["physionet", "zenodo", "hand"]
    files: str = ""
    below: str = ""


@cache
def catalogue() -> dict[str, Dataset]:
    """Every dataset by its name."""
    text = (files("marecg.read") / "datasets" / "catalogue.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text).items()
    return {name: Dataset.model_validate({"name": name, "sources": [name]} | each) for name, each in tables}


def dataset(name: str) -> Dataset:
    """The dataset of a name. Raises `UsageError` where there is none."""
    if name not in catalogue():
        raise UsageError(f"no dataset is called {name!r}", remedy=suggest(name, catalogue()))
    return catalogue()[name]
