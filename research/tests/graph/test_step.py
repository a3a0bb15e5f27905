"""The paper's step: the AUC of a class that is tested in two rotations."""

import numpy as np
import pytest
from research.graph.step import pooled_auc


def test_the_pooled_auc_counts_pairs_within_rotations():
    generator = np.random.default_rng(0)
    rotations = []
    for records in (30, 50):
        y_MK = (generator.random((records, 2)) < 0.3).astype(np.uint8)
        rotations.append((y_MK, generator.normal(size=(records, 2)) + 10 * len(rotations)))
    for k, auc in enumerate(pooled_auc(rotations)):
        pairs = [
            float(positive > negative)
            for y_MK, logits_MK in rotations
            for positive in logits_MK[y_MK[:, k] == 1, k]
            for negative in logits_MK[y_MK[:, k] == 0, k]
        ]
        assert auc == pytest.approx(np.mean(pairs))


def test_a_rotation_without_positives_does_not_count():
    y_M1 = np.array([[1], [0], [0], [1]], np.uint8)
    logits_M1 = np.array([[3.0], [2.0], [4.0], [5.0]])
    nothing = (np.zeros((4, 1), np.uint8), logits_M1)
    assert pooled_auc([(y_M1, logits_M1), nothing]) == pytest.approx([0.75])
