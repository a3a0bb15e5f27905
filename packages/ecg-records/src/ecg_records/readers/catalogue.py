"""Load the catalogue of public data sets with their names, origins and readers."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ecg_base import UsageError, suggest


class Dataset(BaseModel):
    """Public data set: an entry of `datasets/catalogue.toml`. None means unknown.

    Attributes:
        name, title: Short name and full name.
        records: Number of records as published.
        licence: Name of the licence.
        size: Size of the files to download in GB.
        codes: Kind of the labels, such as SNOMED CT, or "" if the data set is used only for pretraining.
        sources: Names under which a corpus counts the records.
        home: Address of the data set's page.
        host: `physionet`, `zenodo`, or `hand` if no program can download the files.
        files: Address of the files. For `zenodo`, the address of the record in Zenodo's API.
        below: Folder on the host that contains the data set, or "" for all files.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

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
    """Return all data sets by name."""
    text = (files("ecg_records.readers") / "datasets" / "catalogue.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text).items()
    return {name: Dataset.model_validate({"name": name, "sources": [name]} | entry) for name, entry in tables}


def dataset(name: str) -> Dataset:
    """Return a data set by name. Raises `UsageError` if the name is unknown."""
    if name not in catalogue():
        raise UsageError(f"unknown dataset {name!r}", remedy=suggest(name, catalogue()))
    return catalogue()[name]
