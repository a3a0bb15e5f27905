import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from marecg.evaluate.metrics import class_auc, macro_auc, scorable


def slow_auc(y_M: np.ndarray, logits_M: np.ndarray) -> float:
    """The share of (positive, negative) pairs in the right order; a tie is half a pair."""
    pairs = [
        1.0 if positive > negative else 0.5 if positive == negative else 0.0
        for positive in logits_M[y_M == 1]
        for negative in logits_M[y_M == 0]
    ]
    return float(np.mean(pairs))


def test_a_perfect_order_scores_one_and_the_reverse_zero():
    y = np.array([[0, 1], [0, 1], [1, 0]], np.uint8)
    logits = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert class_auc(y, logits).tolist() == [1.0, 0.0]
    assert macro_auc(y, logits) == 0.5


def test_equal_logits_score_a_half():
    assert class_auc(np.array([[0], [1], [1]], np.uint8), np.zeros((3, 1))).tolist() == [0.5]


def test_a_class_without_positives_or_without_negatives_is_left_out_of_the_mean():
    y = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 1]], np.uint8)
    logits = np.array([[0.1, 3.0, 1.0], [0.1, 2.0, 0.0], [0.9, 1.0, 2.0]])
    assert scorable(y).tolist() == [True, False, False]
    np.testing.assert_array_equal(class_auc(y, logits), [0.75, np.nan, np.nan])
    assert macro_auc(y, logits) == 0.75


def test_without_any_scorable_class_the_mean_is_nan():
    assert np.isnan(macro_auc(np.zeros((4, 2), np.uint8), np.zeros((4, 2))))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=30))
def test_the_auc_is_the_share_of_ordered_pairs_and_agrees_with_scikit_learn(records):
    y_M, logits_M = np.array(records).T
    if 0 < y_M.sum() < len(y_M):
        auc = class_auc(y_M[:, None].astype(np.uint8), logits_M[:, None].astype(float))[0]
        assert auc == pytest.approx(slow_auc(y_M, logits_M), abs=1e-12)
        assert auc == pytest.approx(roc_auc_score(y_M, logits_M), abs=1e-12)
