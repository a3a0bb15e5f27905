"""A small model, and ten records embedded into a folder, three to a part."""

import filecmp
from pathlib import Path

import pytest
import torch

from ecg_synth import write_corpus
from marecg.corpus.prepare import prepare
from marecg.embedding.embed_records import Embedded, embed_records
from marecg.model.mar_ecg import MarEcg

PART = 3


def run(place: Path, out: object, *inputs: str | Path, model: str | Path = "model", **options) -> Embedded:
    paths = [place / each for each in inputs or ("wfdb",)]
    return embed_records(place / model, paths, str(out), **{"part_records": PART, **options})


def same_files(one: Path, two: Path) -> None:
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in two.iterdir())
    assert filecmp.cmpfiles(one, two, names, shallow=False)[0] == names


@pytest.fixture(scope="session")
def model(micro) -> MarEcg:
    torch.manual_seed(0)
    return MarEcg(micro.model)


@pytest.fixture
def phased(model, micro) -> MarEcg:
    """The same model, which reads every window from three beginnings."""
    phased = MarEcg(micro.model.model_copy(update={"phases": 3}))
    phased.load_state_dict(model.state_dict())
    return phased.eval()


@pytest.fixture(scope="session")
def place(tmp_path_factory, micro) -> Path:
    """A model; ten records, one without its signal; the nine as a corpus; and the parts of the ten."""
    folder = tmp_path_factory.mktemp("place")
    torch.manual_seed(0)
    MarEcg(micro.model).save_pretrained(folder / "model")
    write_corpus(folder / "wfdb", 10, 0)
    sorted((folder / "wfdb").rglob("*.mat"))[4].unlink()
    prepare([folder / "wfdb"], folder / "corpus", jobs=1)
    run(folder, folder / "quiet")
    return folder
