"""The effective rank that a report gives: of all records, or of an even selection where they are many."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from marecg.evaluate import reporting
from marecg.evaluate.methods.frozen_encoder import ENCODER, MEAN_H
from marecg.evaluate.methods.method import FeatureTable
from marecg.nn.collapse import effective_rank


@pytest.mark.parametrize(("records", "chosen"), [(3, [1, 2, 3]), (10, [1, 4, 7, 10])])
def test_of_many_records_a_few_from_first_to_last_are_ranked(records, chosen, monkeypatch):
    monkeypatch.setattr(reporting, "RANKED", 4)
    h_RD = np.random.default_rng(0).normal(size=(11, 8)).astype(np.float32)
    task: Any = SimpleNamespace(row_M=np.arange(1, 1 + records))
    found = reporting.rank_of({ENCODER: FeatureTable(h_RD, {})}, task)
    assert found == pytest.approx(effective_rank(torch.from_numpy(h_RD[chosen])))


def test_where_no_loss_trained_the_pool_the_mean_of_h_is_ranked():
    task = SimpleNamespace(row_M=np.arange(30))
    h_RD, mean_RD = np.random.default_rng(0).normal(size=(2, 30, 6)).astype(np.float32)
    found = reporting.rank_of({ENCODER: FeatureTable(h_RD, {}), MEAN_H: FeatureTable(mean_RD, {})}, task)  # type: ignore[arg-type]
    assert found == pytest.approx(effective_rank(torch.from_numpy(mean_RD)))
