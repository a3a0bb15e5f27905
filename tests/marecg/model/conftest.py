"""A model that was saved."""

import shutil
from pathlib import Path

import pytest

from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config


@pytest.fixture(scope="session")
def saved_once(micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "model"
    MarEcg(micro.model).save_pretrained(folder)
    return folder


@pytest.fixture
def saved(saved_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(saved_once, tmp_path / "run" / "model")
