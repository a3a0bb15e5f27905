"""A corpus as a map-style dataset of torch's."""

import pickle
import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader

from marecg import Corpus
from marecg.corpus.columns import Texts
from marecg.corpus.datasets import fold_of
from marecg.errors import UsageError
from marecg.evaluate.tasks.corpus import corpus_recordings, split_by_patient
from marecg.model.mar_ecg import MarEcg


@pytest.fixture(scope="module")
def corpus(corpus_folder) -> Corpus:
    return Corpus.open(corpus_folder)


WORKER = {"num_workers": 1, "multiprocessing_context": "fork"}


@pytest.mark.parametrize("workers", [{}, WORKER], ids=["one process", "a worker"])
@pytest.mark.parametrize(("labels", "kind"), [("leaves", torch.float32), ("primary", torch.int64)])
def test_a_loader_gives_what_the_module_takes_with_labels_and_folds(corpus, labels, kind, workers):
    batches = list(DataLoader(corpus.torch(labels), batch_size=4, **workers))
    x, n_valid, y, known, fold = (torch.cat(parts) for parts in zip(*batches, strict=True))
    assert (x.dtype, y.dtype, n_valid.dtype) == (torch.float32, kind, torch.int64)
    np.testing.assert_array_equal(x.numpy(), corpus.signals(np.arange(len(corpus))))
    np.testing.assert_array_equal(y.numpy(), corpus.y if labels == "leaves" else corpus.primary)
    np.testing.assert_array_equal(n_valid.numpy(), corpus.n_valid)
    assert known.all()
    assert batches[0].fold.tolist() == fold[:4].tolist()


def test_the_module_takes_a_batch_as_it_comes(corpus, micro):
    batch = next(iter(DataLoader(corpus.torch(), batch_size=3)))
    logits = MarEcg(micro.model).classifier(corpus.y.shape[1])(batch.x, batch.n_valid)
    assert logits.shape == batch.y.shape


def test_a_worker_is_sent_no_signals_and_no_index(corpus):
    sent = pickle.dumps(corpus.torch())
    assert len(sent) < 4000
    theirs = pickle.loads(sent)  # noqa: S301 — our own
    assert theirs.corpus.ids == corpus.ids
    assert torch.equal(theirs[3].x, corpus.torch()[3].x)


def test_one_record_comes_with_its_primary_concept_or_with_nothing(corpus):
    one = corpus.torch("primary")[-1]
    assert (one.x.shape, one.y.item(), one.y.dtype) == ((12, 4700), corpus.primary[-1], torch.int64)
    assert torch.equal(corpus.torch(None)[len(corpus) - 1].x, one.x)
    with pytest.raises(IndexError):
        corpus.torch()[len(corpus)]
    with pytest.raises(
        UsageError, match=r"unknown labels 'codes'\. Choose leaves, primary, None, or give an array"
    ):
        corpus.torch("codes")


def test_labels_of_ones_own_say_where_nobody_knows(corpus):
    table = np.ones((len(corpus), 2))
    table[1, 0] = np.nan
    one = corpus.torch(table)[1]
    assert (one.y.tolist(), one.known.tolist(), one.y.dtype) == ([0, 1], [False, True], torch.float32)
    for labels in (table[1:], np.full(len(corpus), "a")):
        with pytest.raises(
            UsageError, match="labels must have one number, or one row of numbers, per record"
        ):
            corpus.torch(labels)


def test_folds_keep_a_patient_together_and_part_as_the_task_on_the_corpus_does(corpus):
    of_two = replace(corpus, patients=Texts(pa.array([f"p{row // 2}" for row in range(len(corpus))])))
    data = of_two.torch()
    assert len(set(zip(of_two.patients, data.folds, strict=True))) == len(set(of_two.patients))
    parts = split_by_patient(corpus_recordings(of_two))
    expected = np.select([data.folds < 6, data.folds < 8], ["train", "val"], "test")
    np.testing.assert_array_equal(parts, expected)
    rows = data.of_folds(8, 9)
    assert [rows[place].fold.item() for place in range(len(rows))] == data.folds[data.folds >= 8].tolist()
    assert len({fold_of(f"here/{record}") for record in range(100)}) == 10


def test_the_lines_of_the_page_write_a_corpus_with_its_signals(corpus, tmp_path, monkeypatch):
    page = Path(__file__).parents[3].joinpath("docs/corpus/datasets.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("corpus").symlink_to(corpus.folder.absolute())
    for lines in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(lines, {})  # noqa: S102 — our own
    stored, rows = corpus.stored(range(len(corpus))), pq.read_table("corpus.parquet")
    assert rows["id"].to_pylist() == list(corpus.ids)
    np.testing.assert_array_equal(rows["signal_uv"].to_pylist(), stored)
    with h5py.File("corpus.h5") as file:
        np.testing.assert_array_equal(file["signal_uv"], stored)
