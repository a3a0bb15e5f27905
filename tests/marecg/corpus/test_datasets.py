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


def test_a_loader_gives_signals_with_their_leaves(corpus):
    loader = DataLoader(corpus.torch(), batch_size=4)
    x_BCL, y_BN = (torch.cat(parts) for parts in zip(*loader, strict=True))
    assert (x_BCL.dtype, y_BN.dtype) == (torch.float32, torch.float32)
    np.testing.assert_array_equal(x_BCL.numpy(), corpus.signals(np.arange(len(corpus))))
    np.testing.assert_array_equal(y_BN.numpy(), corpus.y)


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


def test_a_worker_of_a_loader_gives_what_one_process_gives(corpus):
    loader = DataLoader(corpus.torch("primary"), batch_size=3, num_workers=1, multiprocessing_context="fork")
    x_BCL, primary_B = (torch.cat(parts) for parts in zip(*loader, strict=True))
    np.testing.assert_array_equal(x_BCL.numpy(), corpus.signals(np.arange(len(corpus))))
    np.testing.assert_array_equal(primary_B.numpy(), corpus.primary)


def test_its_rows_fetch_their_signals(corpus, monkeypatch):
    """By the library itself: rows, slices, columns, a loader, and a copy for another process."""
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    pytest.importorskip("datasets")
    found = corpus.hf()
    assert len(found) == len(corpus)
    assert found[2:5]["id"] == corpus.ids[2:5]
    assert found[3]["leaves"] == np.flatnonzero(corpus.y[3]).tolist()
    np.testing.assert_array_equal(found[2:5]["signal"], corpus.signals([2, 3, 4]))
    np.testing.assert_array_equal(found.select([7, 1])[0]["signal"], corpus.signals([7])[0])
    assert [row["primary"] for row in found] == corpus.primary.tolist()
    batch = next(iter(DataLoader(found, batch_size=2, collate_fn=list)))
    np.testing.assert_array_equal(batch[1]["signal"], corpus.signals([1])[0])
    theirs = pickle.loads(pickle.dumps(found))  # noqa: S301 — our own
    np.testing.assert_array_equal(theirs[4]["signal"], corpus.signals([4])[0])
    leads = found.map(lambda row: {"peak": float(np.abs(row["signal"]).max())}, keep_in_memory=True)
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
