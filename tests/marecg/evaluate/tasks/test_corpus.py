from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.made_records import make_ecg, make_record

import ecg_ontology
from marecg.corpus.config import CorpusConfig
from marecg.corpus.prepare import prepare
from marecg.corpus.prepared import Corpus
from marecg.errors import CorpusError
from marecg.evaluate.tasks.corpus import _supported, corpus_task
from marecg.evaluate.tasks.task import split_of

AF, NSR, LBBB = 5, 34, 10


@pytest.fixture
def prepared(tmp_path, monkeypatch) -> SimpleNamespace:
    """A stand-in for `Corpus`: 400 records, half AF, nearly half NSR, one LBBB, ten unlabelled."""
    y = np.zeros((400, 40), np.uint8)
    y[:200, AF] = y[200:390, NSR] = 1
    y[0, LBBB] = 1
    ids, ontology = [f"r{i}" for i in range(400)], ecg_ontology.load()
    of_all = {"age": None, "sex": None, "source": "made", "root": "made", "start": 0.0}
    rows = [{"path": name} | of_all for name in ids]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "index.parquet")
    corpus = SimpleNamespace(
        folder=tmp_path,
        y=y,
        ids=ids,
        sources=["made"] * 400,
        patients=[str(i // 3) if i % 2 else None for i in range(400)],
        n_valid=np.full(400, 4000),
        config=CorpusConfig(),
        profile="paper",
        ontology_sha256=ontology.sha256,
        ontology=lambda *_: ontology,
        signals=lambda rows: np.full((len(rows), 12, 4700), float(rows[0]), np.float32),
    )
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
    counts = [parts.count(name) for name in ("train", "val", "test")]
    assert counts == pytest.approx([6000, 2000, 2000], rel=0.05)
    in_every_release = [split_of(f"ptbxl/0000{number}") for number in (1, 3, 4)]
    assert in_every_release == ["train", "test", "val"]


def test_no_patient_is_on_two_sides_and_a_record_without_one_goes_by_its_id(prepared):
    task = corpus_task(prepared.folder)
    sides: dict[str, set[str]] = {}
    for row, split in zip(task.row_M, task.split_M, strict=True):
        patient = task.recordings.patients[row]
        assert patient == (f"made/{row // 3}" if row % 2 else None)
        assert split == split_of(patient or f"made/r{row}")
        sides.setdefault(patient or str(row), set()).add(split)
    assert {len(splits) for splits in sides.values()} == {1}
    assert set().union(*sides.values()) == {"train", "val", "test"}


def test_a_corpus_without_a_supported_leaf_or_at_another_rate_is_refused(prepared):
    prepared.y[:] = 0
    with pytest.raises(CorpusError, match="a leaf needs 10 train, 3 val, 3 test"):
        corpus_task(prepared.folder)
    prepared.config = CorpusConfig(fs=250)
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
