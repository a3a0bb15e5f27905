"""A model that was saved."""

from pathlib import Path

import pytest

from marecg.model.mar_ecg import MarEcg
from marecg.recipes import Config


@pytest.fixture
def saved(micro: Config, tmp_path: Path) -> Path:
    MarEcg(micro.model).save_pretrained(tmp_path / "run" / "model")
    return tmp_path / "run" / "model"
