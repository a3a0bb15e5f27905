"""A corpus as a map-style dataset of torch's."""

import pickle
import re
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
