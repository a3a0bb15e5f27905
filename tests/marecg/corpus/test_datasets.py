"""A corpus as a map-style dataset of torch's, and as one of Hugging Face's."""

import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from marecg import Corpus
from marecg.errors import UsageError


@pytest.fixture(scope="module")
def corpus(corpus_folder: Path) -> Corpus:
    return Corpus.open(corpus_folder)


def test_a_loader_gives_signals_with_their_leaves(corpus: Corpus) -> None:
    loader = DataLoader(corpus.torch(), batch_size=4)
    x_BCL, y_BN = (torch.cat(parts) for parts in zip(*loader, strict=True))
    assert (x_BCL.dtype, y_BN.dtype) == (torch.float32, torch.float32)
    np.testing.assert_array_equal(x_BCL.numpy(), corpus.signals(np.arange(len(corpus))))
    np.testing.assert_array_equal(y_BN.numpy(), corpus.y)


def test_a_worker_is_sent_no_signals_and_no_index(corpus: Corpus) -> None:
    sent = pickle.dumps(corpus.torch())
    assert len(sent) < 1000
    theirs = pickle.loads(sent)  # noqa: S301 — our own
    assert theirs.corpus.ids == corpus.ids
    assert torch.equal(theirs[3][0], corpus.torch()[3][0])


def test_one_record_comes_with_its_primary_concept_or_with_nothing(corpus: Corpus) -> None:
    x_CL, primary = corpus.torch("primary")[-1]
    assert (x_CL.shape, primary.item(), primary.dtype) == ((12, 4700), corpus.primary[-1], torch.int64)
    assert torch.equal(corpus.torch(None)[len(corpus) - 1], x_CL)
    with pytest.raises(IndexError):
        corpus.torch()[len(corpus)]
    with pytest.raises(UsageError, match=r"no labels 'codes'\. Choose leaves, primary or None"):
        corpus.torch("codes")


def test_without_the_library_there_is_one_clear_error(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"datasets is not installed\. pip install datasets"):
        corpus.hf()


def test_its_rows_fetch_their_signals(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is not among our dependencies: this stands for its two calls that we make."""

    class Dataset:
        def __init__(self, rows: Any) -> None:
            self.rows = rows

        def with_transform(self, change: Any) -> Any:
            return change(self.rows.slice(2, 3).to_pydict())

    library = ModuleType("datasets")
    library.Dataset = Dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    found = corpus.hf()
    assert found["id"] == corpus.ids[2:5]
    np.testing.assert_array_equal(found["signal"], corpus.signals([2, 3, 4]))
