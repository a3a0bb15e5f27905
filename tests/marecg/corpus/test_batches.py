"""The endless, restartable stream of batches."""

import numpy as np
import pytest
import torch

import ecg_ontology
from marecg.corpus.batches import BatchStream
from marecg.corpus.prepared import Corpus
from marecg.train.data import supervise


@pytest.fixture
def stream(corpus_folder, micro) -> BatchStream:
    corpus = Corpus.open(corpus_folder)
    return BatchStream(corpus, supervise(micro, corpus, ecg_ontology.load()), 3, 20, seed=1)


def test_every_record_is_seen_once_per_epoch_in_an_order_of_its_own(stream):
    size = len(stream.corpus)
    seen = np.concatenate([stream.rows(number) for number in range(20)])
    first, second = seen[:size], seen[size : 2 * size]
    assert sorted(first) == sorted(second) == list(range(size))
    assert list(first) != list(second)


def test_an_order_does_not_depend_on_what_was_asked_before(stream):
    for number in (7, 0, 7, 19):
        fresh = BatchStream(stream.corpus, stream.supervision, 3, 20, seed=1)
        assert stream.rows(number).tolist() == fresh.rows(number).tolist()


def test_ranks_share_each_global_batch_without_overlap(stream):
    whole = stream.rows(0).tolist() + stream.rows(1).tolist()
    stream.world = 2
    shares = []
    for rank in range(2):
        stream.rank = rank
        shares += stream.rows(0).tolist()
    assert shares == whole


def test_a_stream_goes_on_where_its_state_says(stream):
    numbers = iter(stream)
    for _ in range(4):
        next(numbers)
    state = stream.state_dict()
    later = next(numbers)
    stream.load_state_dict(state)
    again = next(iter(stream))
    assert again.number == later.number == 4
    assert torch.equal(again.x_BCL, later.x_BCL)
    assert [batch.number for batch in stream] == list(range(5, 20)), "and ends with the run"


def test_a_batch_is_the_corpus_at_its_rows(stream):
    batch = stream.batch(2)
    rows = batch.rows_B.numpy()
    assert batch.d_BCL.dtype == torch.int16
    assert batch.x_BCL.dtype == torch.float32
    np.testing.assert_array_equal(batch.x_BCL.numpy(), stream.corpus.signals(rows))
    np.testing.assert_array_equal(batch.n_valid_B.numpy(), stream.corpus.n_valid[rows])
    np.testing.assert_array_equal(batch.supervision.y_BN.numpy(), stream.corpus.y[rows].astype(bool))
    for row, peaks in zip(rows, batch.supervision.rpeaks_BK.tolist(), strict=True):
        assert [peak for peak in peaks if peak >= 0] == stream.corpus.rpeaks[row].tolist()


def test_targets_are_those_of_the_ontology(stream):
    expected = ecg_ontology.load().soft_targets(stream.corpus.y)
    np.testing.assert_allclose(stream.supervision.whole().target_BN.numpy(), expected, rtol=1e-6)
