"""The packaged ontology in both profiles, the folder of its sources, and changes of either."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ecg_ontology.changes import edit, write_excerpt

import ecg_ontology
from ecg_ontology import Ontology
from ecg_ontology.formats.sources import read_source
from ecg_ontology.graph.drafts import Draft


@pytest.fixture(scope="session")
def onto() -> Ontology:
    """The packaged ontology as the paper prints it."""
    return ecg_ontology.load()


@pytest.fixture(scope="session")
def curated() -> Ontology:
    """The packaged ontology with the paper's four rows mended and doubted ones decided."""
    return ecg_ontology.load(profile="curated")


@pytest.fixture(scope="session")
def sources() -> Path:
    """The folder that a clinician edits."""
    return Path(__file__).parents[2] / "ontology"


@pytest.fixture(scope="session")
def draft(sources: Path) -> Draft:
    """What is read from these sources."""
    return read_source(sources)


@pytest.fixture
def folder(sources: Path, tmp_path: Path) -> Path:
    """A copy of the sources that may be edited."""
    return Path(shutil.copytree(sources, tmp_path / "ontology"))


@pytest.fixture(scope="session")
def excerpt(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with a third of the concepts and a few rows of each table, which read and check quickly."""
    return write_excerpt(sources, tmp_path_factory.mktemp("excerpt") / "ontology")


@pytest.fixture
def small(excerpt: Path, tmp_path: Path) -> Path:
    """A copy of this excerpt that may be edited."""
    return Path(shutil.copytree(excerpt, tmp_path / "ontology"))


@pytest.fixture
def revise(folder: Path) -> Callable[..., Ontology]:
    """Load a copy of the sources with these replacements made in one of its files."""

    def load(name: str, *replacements: tuple[str, str]) -> Ontology:
        edit(folder / name, *replacements)
        return ecg_ontology.load(folder)

    return load
