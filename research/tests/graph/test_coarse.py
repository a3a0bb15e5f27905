"""Codes of a family alone: the softmax that learns from groups, answers, and the report's tables."""

from pathlib import Path

import numpy as np
import pytest
import torch
from research.graph.coarse import run, tables
from research.graph.coarse.run import answers, fit, probability, target
from sklearn.linear_model import LogisticRegression

from ecg_ontology import load

GROUP = np.array([0, 0, 1, 1])


@pytest.fixture(scope="module")
def records() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    x_MF = np.c_[generator.normal(size=(200, 6)), np.ones(200)]
    z_ML = 2 * x_MF @ generator.normal(size=(7, 4)) + generator.gumbel(size=(200, 4))
    return x_MF, np.eye(4, dtype=bool)[z_ML.argmax(1)]


def test_with_exact_codes_alone_the_fit_is_a_logistic_regression(records):
    x_MF, y_ML = records
    of = target(y_ML, np.ones(200, bool), GROUP, np.zeros((200, 2)))
    w_FL = fit(x_MF, of, 3.0, np.zeros((7, 4)))
    theirs = LogisticRegression(C=1 / 3, tol=1e-8, max_iter=1000).fit(x_MF[:, :6], y_ML.argmax(1))
    np.testing.assert_allclose(w_FL[:6].T, theirs.coef_, atol=0.01)


def test_the_fit_minimises_the_loss_of_the_plan(records):
    x_MF, y_ML = records
    exact_M = np.arange(200) < 20
    of = target(y_ML, exact_M, GROUP, np.zeros((200, 2)))
    w_FL = torch.tensor(fit(x_MF, of, 3.0, np.zeros((7, 4))), requires_grad=True)
    log_p_ML = torch.log_softmax(torch.tensor(x_MF) @ w_FL, 1)
    leaf_M = torch.tensor(y_ML.argmax(1))
    exact = -log_p_ML[range(20), leaf_M[:20]].sum()
    family_MG = torch.stack([log_p_ML[:, :2].logsumexp(1), log_p_ML[:, 2:].logsumexp(1)], 1)
    coarse = -family_MG[range(20, 200), leaf_M[20:] // 2].sum()
    (exact + coarse + 1.5 * (w_FL[:6] ** 2).sum()).backward()
    assert w_FL.grad is not None
    assert w_FL.grad.abs().max() < 0.05


def test_a_record_with_a_leaf_and_a_family_alone_is_taught_half_of_each():
    y_ML = np.array([[True, False, False, False], [True, False, True, False]])
    of = target(y_ML, np.array([True, False]), GROUP, np.array([[0, 1.0], [0, 1.0]]))
    assert of.leaf_ML.tolist() == [[0.5, 0, 0, 0], [0, 0, 0, 0]]
    assert of.mass_MG.tolist() == [[0, 0.5], [0.5, 0.5]]


def test_an_uncertain_finding_is_answered_by_its_family():
    y_ML = np.zeros((400, 4), bool)
    y_ML[np.arange(400), np.arange(400) % 4] = True
    family_M = np.arange(400) % 4 // 2
    p_ML = np.where(family_M[:, None] == GROUP, 0.4999, 0.0001)  # the family is certain, its leaf isn't
    rows = np.arange(400)
    counts = answers(np.log(p_ML), y_ML, rows[:200], rows[200:], GROUP, normal=0)
    assert counts.tolist() == [100, 100, 100]
    assert probability(np.log(p_ML[:, 2]), y_ML[:, 2], rows[:200], rows[200:]).max() < 0.6


def test_shuffled_groups_keep_their_sizes_and_leave_normal_in_place():
    onto = load()
    leaves = np.array([n for n in range(len(onto)) if n not in onto.roots])
    by = run.groups(onto, leaves, 3)
    real, shuffled = by["real"], by["shuffle 2"]
    assert np.bincount(real).tolist() == np.bincount(shuffled).tolist()
    assert (real != shuffled).any()
    assert (shuffled[real == 0] == 0).all()  # Normal is the first root
    assert (by["abnormal"] == (real != 0)).all()


def test_the_report_has_the_tables():
    report = Path(tables.__file__).with_name("report.md").read_text(encoding="utf-8")
    for table in tables.TABLES:
        assert "\n".join(table()) in report, "python -m research.graph.coarse.tables"
