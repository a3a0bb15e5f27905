from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.marecg.made_records import make_ecg, make_record

import ecg_ontology
from marecg.base.config import CorpusConfig
from marecg.base.errors import CorpusError
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.evaluate.tasks.corpus import _supported, corpus_task
from marecg.evaluate.tasks.task import split_of

AF, NSR, LBBB = 5, 34, 10


@dataclass(frozen=True)
class Prepared:
    """A stand-in for `Corpus`: 400 records, half AF, nearly half NSR, one LBBB, ten unlabelled."""

    folder: Path
    y: np.ndarray
    ontology_sha256: str
    config: CorpusConfig = field(default_factory=CorpusConfig)
    profile: str = "paper"
    records: int = 400
    _ontology: ecg_ontology.Ontology = field(default_factory=ecg_ontology.load)
    ontology = Corpus.ontology  # the real one, which reads nothing else of a corpus

    def __post_init__(self) -> None:
        of_all = {"age": None, "sex": None, "source": "made", "root": "made", "start": 0.0}
        rows = [{"path": name} | of_all for name in self.ids]
        pq.write_table(pa.Table.from_pylist(rows), self.folder / "index.parquet")

    @property
    def ids(self) -> list[str]:
        return [f"r{i}" for i in range(self.records)]

    @property
    def sources(self) -> list[str]:
        return ["made"] * self.records

    @property
    def patients(self) -> list[str | None]:
        return [str(i // 3) if i % 2 else None for i in range(self.records)]

    @property
    def n_valid(self) -> np.ndarray:
        return np.full(self.records, 4000)

    def signals(self, rows: list[int]) -> np.ndarray:
        return np.full((len(rows), 12, 4700), float(rows[0]), np.float32)


@pytest.fixture
def prepared(tmp_path, monkeypatch) -> Prepared:
    y = np.zeros((400, 40), np.uint8)
    y[:200, AF] = y[200:390, NSR] = 1
    y[0, LBBB] = 1
    corpus = Prepared(tmp_path, y, ecg_ontology.load().sha256)
    monkeypatch.setattr(Corpus, "open", lambda root: corpus)
    return corpus


def test_leaves_with_enough_support_are_asked_for_by_their_abbreviations(prepared):
    task = corpus_task(prepared.folder)
    nodes = ecg_ontology.load().nodes
    assert task.classes == (nodes[AF].abbr, nodes[NSR].abbr)
    assert task.unlabelled == 10
    np.testing.assert_array_equal(task.y_MK, prepared.y[:390][:, [AF, NSR]])


def test_a_leaf_needs_ten_three_and_three_records_with_it_and_as_many_without():
    """Of 20, 6 and 6 records; the fourth leaf, which all have, makes each of them a labelled one."""
    split_R = np.repeat(["train", "val", "test"], [20, 6, 6])
    y_RN = np.ones((32, 4), np.uint8)
    for leaf, counts in enumerate([(10, 3, 3), (9, 3, 3), (11, 3, 3)]):
        for part, count in zip(("train", "val", "test"), counts, strict=True):
            y_RN[np.flatnonzero(split_R == part)[count:], leaf] = 0
    assert _supported(y_RN, split_R).tolist() == [True, False, False, False]


def test_padding_is_left_out_of_the_recordings(prepared):
    x_CL = corpus_task(prepared.folder).recordings.read(7)
    assert x_CL.shape == (12, 4000)
    assert (x_CL == 7).all()


def test_the_split_is_60_20_20_and_follows_from_the_id_alone():
    parts = [split_of(f"made/{i}") for i in range(10_000)]
    assert [parts.count(name) for name in ("train", "val", "test")] == pytest.approx(
        [6000, 2000, 2000], rel=0.05
    )
    for part, record in {"train": "ptbxl/00001", "test": "ptbxl/00003", "val": "ptbxl/00004"}.items():
        assert split_of(record) == part, "in every release"


def test_no_patient_is_on_two_sides_and_a_record_without_one_goes_by_its_id(prepared):
    task = corpus_task(prepared.folder)
    sides: dict[str, set[str]] = {}
    for row, split in zip(task.row_M, task.split_M, strict=True):
        patient = task.recordings.patients[row]
        assert patient == (f"made/{row // 3}" if row % 2 else None)
        assert split == split_of(patient or f"made/r{row}")
        sides.setdefault(patient or str(row), set()).add(split)
    assert {len(found) for found in sides.values()} == {1}
    assert set().union(*sides.values()) == {"train", "val", "test"}


def test_a_corpus_without_a_supported_leaf_is_refused(prepared):
    prepared.y[:] = 0
    with pytest.raises(CorpusError, match="a leaf needs 10 train, 3 val, 3 test"):
        corpus_task(prepared.folder)


def test_a_corpus_at_another_rate_is_refused(prepared, monkeypatch):
    monkeypatch.setattr(Corpus, "open", lambda root: replace(prepared, config=CorpusConfig(fs=250)))
    with pytest.raises(CorpusError, match="250 Hz"):
        corpus_task(prepared.folder)


def test_records_that_are_called_the_same_stay_apart(tmp_path):
    """As where every patient has a folder with one file, `ecg.hea`."""
    for number in range(60):
        codes = ["Dx: 164889003" if number % 2 else "Dx: 426783006"]
        folder = tmp_path / "hospital" / "ward" / f"patient{number}"
        make_record(folder, "ecg", make_ecg(seed=number), comments=codes)
    prepare([tmp_path / "hospital"], tmp_path / "corpus", jobs=1)
    corpus = Corpus.open(tmp_path / "corpus")
    assert len(set(zip(corpus.sources, corpus.ids, strict=True))) == 1
    task = corpus_task(tmp_path / "corpus")
    assert len(set(task.recordings.ids)) == len(corpus) == 60
    assert sorted(task.row_M.tolist()) == list(range(60))
    assert set(task.split_M) == {"train", "val", "test"}
