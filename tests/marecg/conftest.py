"""A small prepared corpus, a recipe so small that a step takes milliseconds, and records good and bad."""

import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor
from tests.marecg.made_records import make_ecg, make_record

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
    train=TrainConfig(batch_size=2, accumulate=2, lr=1e-3, max_steps=6, checkpoint_every=2),
)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Worker processes are copies of this one, which has torch already; elsewhere real ones begin as ever."""
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr("joblib.externals.loky.process_executor.get_context", lambda: fork)
    yield
    get_reusable_executor(kill_workers=True).shutdown(wait=True)  # they hold what this test has patched


@pytest.fixture
def own_environment() -> Iterator[None]:
    """What a Dask cluster of this machine sets, such as a number of threads, isn't left to later tests."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


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


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of two collections: five good records and three bad ones."""
    root = tmp_path / "records"
    for number in range(3):
        make_record(root / "georgia", f"E0000{number}", make_ecg(seed=number))
    make_record(root / "ptb" / "g1", "S0001", make_ecg(12, 1000, seed=3), fs=1000, comments=["Dx: 164865005"])
    make_record(root / "ptb" / "g1", "S0002", make_ecg(6, seed=4), comments=["Dx: 54329005,54329005"])
    flat = make_ecg(seed=5)
    flat[7:11] = 0
    make_record(root / "georgia", "E00003", flat)
    make_record(root / "georgia", "E00004", scale="0/mV")
    (make_record(root / "georgia", "E00005").parent / "E00005.mat").unlink()
    return root


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty place in fsspec's memory."""
    monkeypatch.setenv("MARECG_CACHE", str(tmp_path / "cache"))
    return f"memory://{tmp_path.name}"
