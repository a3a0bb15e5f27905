"""A corpus as a map-style dataset of torch's, and as one of Hugging Face's."""

import pickle
import re
import sys
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader

from marecg import Corpus
from marecg.base.errors import UsageError


@pytest.fixture(scope="module")
def corpus(corpus_folder) -> Corpus:
    return Corpus.open(corpus_folder)


WORKER = {"num_workers": 1, "multiprocessing_context": "fork"}


@pytest.mark.parametrize("workers", [{}, WORKER], ids=["one process", "a worker"])
@pytest.mark.parametrize(("labels", "kind"), [("leaves", torch.float32), ("primary", torch.int64)])
def test_a_loader_gives_signals_with_their_leaves(corpus, labels, kind, workers):
    loader = DataLoader(corpus.torch(labels), batch_size=4, **workers)
    x_BCL, labels_B = (torch.cat(parts) for parts in zip(*loader, strict=True))
    assert (x_BCL.dtype, labels_B.dtype) == (torch.float32, kind)
    np.testing.assert_array_equal(x_BCL.numpy(), corpus.signals(np.arange(len(corpus))))
    np.testing.assert_array_equal(labels_B.numpy(), corpus.y if labels == "leaves" else corpus.primary)


def test_a_worker_is_sent_no_signals_and_no_index(corpus):
    sent = pickle.dumps(corpus.torch())
    assert len(sent) < 1000
    theirs = pickle.loads(sent)  # noqa: S301 — our own
    assert theirs.corpus.ids == corpus.ids
    assert torch.equal(theirs[3][0], corpus.torch()[3][0])


def test_one_record_comes_with_its_primary_concept_or_with_nothing(corpus):
    x_CL, primary = corpus.torch("primary")[-1]
    assert (x_CL.shape, primary.item(), primary.dtype) == ((12, 4700), corpus.primary[-1], torch.int64)
    assert torch.equal(corpus.torch(None)[len(corpus) - 1], x_CL)
    with pytest.raises(IndexError):
        corpus.torch()[len(corpus)]
    with pytest.raises(UsageError, match=r"no labels 'codes'\. Choose leaves, primary or None"):
        corpus.torch("codes")


def test_without_the_library_there_is_one_clear_error(corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"datasets is not installed\. pip install datasets"):
        corpus.hf()


def test_its_rows_fetch_their_signals(corpus, monkeypatch):
    """By the library itself: rows, slices, columns, a loader, and a copy for another process."""
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    pytest.importorskip("datasets")
    rows = corpus.hf()
    assert len(rows) == len(corpus)
    assert rows[2:5]["id"] == corpus.ids[2:5]
    assert rows[3]["leaves"] == np.flatnonzero(corpus.y[3]).tolist()
    assert [row["primary"] for row in rows] == corpus.primary.tolist()
    np.testing.assert_array_equal(rows[2:5]["signal"], corpus.signals([2, 3, 4]))
    batch = next(iter(DataLoader(rows, batch_size=2, collate_fn=list)))
    theirs = pickle.loads(pickle.dumps(rows))  # noqa: S301 — our own
    for row, number in ((rows.select([7, 1])[0], 7), (batch[1], 1), (theirs[4], 4)):
        np.testing.assert_array_equal(row["signal"], corpus.signals([number])[0])
    leads = rows.map(lambda row: {"peak": float(np.abs(row["signal"]).max())}, keep_in_memory=True)
    assert leads.with_format(None)["peak"][0] == pytest.approx(np.abs(corpus.signals([0])).max())


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
