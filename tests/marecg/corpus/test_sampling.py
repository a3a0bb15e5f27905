"""How often a record comes, and whose codes are read."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecg_ontology
from marecg.corpus.batches import BatchStream
from marecg.corpus.columns import Texts
from marecg.corpus.config import SamplingConfig
from marecg.corpus.prepared import Corpus
from marecg.corpus.sampling import MOST_OFTEN, draws, systematic
from marecg.corpus.supervision import CorpusSupervision
from marecg.errors import ConfigError
from marecg.train.data import supervise


@pytest.fixture
def corpus(corpus_folder) -> Corpus:
    """Six records of leaf 25, two of leaf 7, two without any; the last four are of another source."""
    opened = Corpus.open(corpus_folder)
    y_MN = np.zeros_like(opened.y)
    y_MN[:6, 25] = 1
    y_MN[6:8, 7] = 1
    return replace(opened, y=y_MN, sources=Texts(pa.array(["a"] * 6 + ["b"] * 4)))


def test_without_a_wish_every_record_comes_once(corpus):
    assert draws(corpus, SamplingConfig()) is None


def test_a_record_of_a_rarer_leaf_comes_more_often_by_the_root_of_the_ratio(corpus):
    often_M = draws(corpus, SamplingConfig(balance=0.5))
    np.testing.assert_allclose(often_M[6] / often_M[0], np.sqrt(6 / 2))
    np.testing.assert_allclose(often_M[9], often_M[0])
    np.testing.assert_allclose(often_M.sum(), len(corpus))


def test_no_record_is_drawn_so_often_that_it_is_learnt_by_heart(corpus):
    often_M = draws(corpus, SamplingConfig(balance=9))
    np.testing.assert_allclose(often_M.max() / np.median(often_M), MOST_OFTEN)


def test_a_source_gets_its_share_whatever_its_size(corpus):
    often_M = draws(corpus, SamplingConfig(shares={"b": 0.25}))
    np.testing.assert_allclose(often_M[6:].sum(), 0.25 * len(corpus))


@pytest.mark.parametrize("shares", [{"c": 0.5}, {"a": 0.9, "b": 0.9}, {"a": 0.2, "b": 0.2}, {"a": 1.0}])
def test_shares_that_can_not_be_are_refused(corpus, shares):
    with pytest.raises(ConfigError, match=r"sampling\.shares"):
        draws(corpus, SamplingConfig(shares=shares))


@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=40), st.floats(0, 0.999))
def test_a_record_comes_as_often_as_it_should_to_within_one(weights, offset):
    often_M = np.array(weights) * len(weights) / sum(weights)
    counts = np.bincount(systematic(often_M, offset), minlength=len(weights))
    assert counts.sum() == len(weights)
    assert (np.abs(counts - often_M) < 1 + 1e-6).all()


def test_an_epoch_of_the_stream_has_the_records_in_their_shares_in_an_order_of_its_own(corpus, micro):
    supervision = supervise(micro, corpus, ecg_ontology.load())
    often_M = draws(corpus, SamplingConfig(shares={"b": 0.8}))
    stream = BatchStream(corpus, supervision, 10, 40, seed=0, draws_M=often_M)
    orders = [stream.rows(number).tolist() for number in range(40)]
    assert abs((np.concatenate(orders) >= 6).mean() - 0.8) < 0.03
    assert all(order != sorted(order) for order in orders)
    assert orders[0] != orders[1]


def test_leaves_of_codes_that_are_not_read_draw_nobody(corpus):
    """Without the codes of source a the leaf of the other two is the commonest, and all come alike."""
    often_M = draws(corpus, SamplingConfig(balance=0.5, without_codes=("a",)))
    np.testing.assert_allclose(often_M, 1)


def test_codes_that_are_not_read_leave_no_label_and_no_target(corpus, micro):
    options = {"without_codes": ("a",), "standardised": True}
    supervision = CorpusSupervision(corpus, ecg_ontology.load(), micro.model, **options).whole()
    assert not supervision.y_BN[:6].any()
    assert not supervision.target_BN[:6].any()
    assert supervision.y_BN[6:8].any(1).all()
    known_B = supervision.known_B
    for value_B in (supervision.mean_rr_B[known_B], supervision.rr_cv_B[known_B]):
        assert abs(float(value_B.mean())) < 1e-4
        assert abs(float(value_B.std(correction=0)) - 1) < 1e-3


def test_shares_are_what_counts_and_not_their_sum():
    assert systematic(np.array([0.25, 1.0, 0.25]), 0.25).tolist() == [0, 1, 1]
