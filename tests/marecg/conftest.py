"""A small prepared corpus, a recipe so small that a step takes milliseconds, and records good and bad."""

from pathlib import Path

import pytest

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.model.config import ModelConfig
from marecg.objectives.ar import ArConfig
from marecg.objectives.gscl import GsclConfig
from marecg.recipes import Config
from marecg.recipes.schema import TrainConfig

MICRO = Config(
    name="micro",
    model=ModelConfig(
        stride=50, positions=94, width=16, depth=1, heads=2, mlp_ratio=2, queries=2, concept_width=8
    ),
    ar=ArConfig(width=8, depth=1, heads=1),
    gscl=GsclConfig(node_width=8),
    train=TrainConfig(batch_size=2, global_batch_size=4, lr=1e-3, max_steps=6, checkpoint_every=2),
)


@pytest.fixture(scope="session")
def micro() -> Config:
    """C1 with GSCL at the least size that has every part."""
    return MICRO


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten synthetic records, prepared."""
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder / "wfdb", 10, 0)
    prepare([folder / "wfdb"], folder / "prepared", jobs=1)
    return folder / "prepared"
