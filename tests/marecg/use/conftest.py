"""A small model, and what is embedded into folders."""

from pathlib import Path

import pytest
import torch
from tests.marecg.use.parted import RECORDS, run

from marecg.corpus.prepare import prepare
from marecg.model.mar_ecg import MarEcg
from marecg.synth import write_corpus


@pytest.fixture(scope="session")
def model(micro) -> MarEcg:
    torch.manual_seed(0)
    return MarEcg(micro.model)


@pytest.fixture(scope="session")
def place(tmp_path_factory, micro) -> Path:
    """A model; ten records, one without its signal; the nine as a corpus; and the parts of the ten."""
    folder = tmp_path_factory.mktemp("place")
    torch.manual_seed(0)
    MarEcg(micro.model).save_pretrained(folder / "model")
    write_corpus(folder / "wfdb", RECORDS, 0)
    sorted((folder / "wfdb").rglob("*.mat"))[4].unlink()
    prepare([folder / "wfdb"], folder / "corpus", jobs=1)
    run(folder, folder / "quiet")
    return folder
