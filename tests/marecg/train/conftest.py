"""Finished runs, a corpus of one's own to go on with, a batch, and something that happens at a step."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.made_records import make_ecg, make_record
from tests.marecg.train.runs import ONTOLOGY, small

from marecg.corpus.batches import BatchStream
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.model.batch import Batch
from marecg.recipes import Config
from marecg.recipes.overrides import override
from marecg.train.callbacks import Metrics
from marecg.train.data import supervise
from marecg.train.run import Run, train


@pytest.fixture(scope="session")
def pretrain(corpus_folder: Path, micro: Config) -> Callable[..., Run]:
    """Train the least recipe, with settings of one's own, on ten records: into a folder, as `train` does."""
    return lambda out, *settings, **how: train(override(micro, settings), corpus_folder, out, **how)


@pytest.fixture(scope="session")
def unbroken(pretrain: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The least recipe's run, which nothing stopped."""
    folder = tmp_path_factory.mktemp("unbroken")
    pretrain(folder)
    return folder


@pytest.fixture(scope="session")
def given(pretrain: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of another seed."""
    folder = tmp_path_factory.mktemp("given") / "earlier"
    pretrain(folder, "train.seed=1", "train.max_steps=2")
    return folder


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of one's own: two records of nobody and one of Georgia, two of them with a code."""
    folder = tmp_path_factory.mktemp("archive")
    for number, place in enumerate(("mine/A0001", "mine/A0002", "georgia/E00007")):
        signal_CL = make_ecg(seed=100 + number)
        codes = ["Dx: 164889003"] if number else []
        make_record(folder / "ecg" / Path(place).parent, Path(place).name, signal_CL, comments=codes)
    prepare([folder / "ecg"], folder / "prepared", jobs=1)
    return folder / "prepared"


@pytest.fixture(scope="session")
def batch(corpus_folder: Path) -> Batch:
    corpus = Corpus.open(corpus_folder)
    return BatchStream(corpus, supervise(small("tiny-c3"), corpus, ONTOLOGY), 4, 1, seed=0).batch(0)


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Have something happen while a step is being finished, once."""
    written = Metrics.after_step

    def arrange(step: int, happens: Callable[[], object]) -> None:
        todo = [happens]

        def after_step(self: Metrics, trainer: Any, *args: Any) -> None:
            written(self, trainer, *args)
            if trainer.global_step == step and todo:
                todo.pop()()

        monkeypatch.setattr(Metrics, "after_step", after_step)

    return arrange
