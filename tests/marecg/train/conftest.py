"""A finished run, and something that happens at a step of one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marecg.recipes import Config
from marecg.train.callbacks import Metrics
from marecg.train.run import train


@pytest.fixture(scope="session")
def unbroken(corpus_folder: Path, micro: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The least recipe's run on ten records, which nothing stopped."""
    folder = tmp_path_factory.mktemp("unbroken")
    train(micro, corpus_folder, folder)
    return folder


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
