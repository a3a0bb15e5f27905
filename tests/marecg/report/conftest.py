"""A finished run of the micro recipe with a probe, and its report."""

from pathlib import Path

import pytest

from marecg.recipes import Config
from marecg.report.writing import write_report
from marecg.train.run import train


@pytest.fixture(scope="session")
def run(micro: Config, corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "a run & <more>"
    config = micro.model_copy(update={"train": micro.train.model_copy(update={"monitor_every": 2})})
    train(config, corpus_folder, folder)
    return folder


@pytest.fixture(scope="session")
def page(run: Path, corpus_folder: Path) -> Path:
    return write_report(run, corpus_folder)
