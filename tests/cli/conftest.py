"""What `marecg` is asked about, and sources that `ecgonto` may edit."""

import shutil
from pathlib import Path

import pytest
from tests.ecg_ontology.changes import write_excerpt


@pytest.fixture(scope="session")
def excerpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with some concepts and rows, which read and check quickly."""
    return write_excerpt(
        Path(__file__).parents[2] / "ontology", tmp_path_factory.mktemp("excerpt") / "ontology"
    )


@pytest.fixture
def folder(excerpt: Path, tmp_path: Path) -> Path:
    """A copy of this excerpt that may be edited."""
    return shutil.copytree(excerpt, tmp_path / "ontology")


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one that knows concepts and one that knows none, eight records (`records`) and their corpus,
    and five records (`wfdb`), the last without its signal.
    """
    import torch

    from ecg_synth import write_corpus
    from marecg.corpus.prepare import prepare
    from marecg.model.config import ModelConfig
    from marecg.model.mar_ecg import MarEcg

    folder = tmp_path_factory.mktemp("place")
    torch.manual_seed(0)
    sizes = {"stride": 50, "positions": 94, "width": 16, "depth": 1, "heads": 2}
    model = MarEcg(ModelConfig(**sizes, mlp_ratio=2, concept_width=8))
    model.save_pretrained(folder / "mute" / "model")
    model.prototypes.copy_(torch.nn.functional.normalize(torch.randn(40, 8), dim=-1))
    model.save_pretrained(folder / "run" / "model")
    write_corpus(folder / "records", 8, 0, diagnoses=("AF", "NSR", "PVC"))
    prepare([folder / "records"], folder / "corpus", jobs=1)
    write_corpus(folder / "wfdb", 5, 0)
    sorted((folder / "wfdb").rglob("*.mat"))[-1].unlink()
    return folder


@pytest.fixture(scope="session")
def corpus(place: Path) -> Path:
    """The corpus of eight records."""
    return place / "corpus"


@pytest.fixture(scope="session")
def header(place: Path) -> Path:
    """One record on disk."""
    return min((place / "wfdb").rglob("*.hea"))


@pytest.fixture(scope="session")
def kinds(place: Path) -> Path:
    """The same place with a classifier, labels, arrays and every kind of embeddings of its eight records."""
    import numpy as np
    import pandas as pd
    from tests.cli.calls import invoke

    from marecg import EcgClassifier
    from marecg.corpus.prepared import Corpus

    corpus = Corpus.open(place / "corpus")
    signals = corpus.signals(range(8))[:, :, :4000]
    np.save(place / "array.npy", signals)
    np.save(place / "one.npy", signals[0])
    EcgClassifier(str(place / "run"), fs=500).fit(signals, np.arange(8) % 2).save(place / "clf")
    for name in ("embedded.npz", "embedded.parquet", "parts/"):
        embed = ("embed", place / "run", corpus.folder, "--readout", "wide", "--out", f"{place}/{name}")
        assert invoke(*embed)[0] == 0
    splits = [("train", "train", "val", "test")[number // 2 % 4] for number in range(8)]
    labels = pd.DataFrame({"record": corpus.ids, "odd": np.arange(8) % 2, "split": splits})
    labels.to_csv(place / "labels.csv", index=False)
    return place
