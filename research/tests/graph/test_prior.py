"""Families as a prior: updates of a ridge regression, the score with a prior, and the report's tables."""

from pathlib import Path

import numpy as np
import pytest
from research.graph.prior import limited, tables
from research.graph.prior.limited import Fit, Hospital, Teaching, auc, one_finding
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

PENALTIES = [10.0, 100.0, 100.0, 1000.0, 1000.0]


@pytest.fixture(scope="module")
def hospital() -> Hospital:
    generator = np.random.default_rng(0)
    y_MN = generator.random((400, 8)) < 0.15
    x_MF = y_MN @ generator.normal(size=(8, 20)) + 2 * generator.normal(size=(400, 20))
    return Hospital(
        "a", x_MF.astype(np.float32), y_MN, generator.integers(0, 2, 400), generator.integers(0, 2, 400)
    )


def ridge(x_MF: np.ndarray, rows: np.ndarray, target: np.ndarray, alpha: float) -> np.ndarray:
    """Scores of all records, divided by their spread over the teaching rows."""
    score_M = Ridge(alpha=alpha).fit(x_MF[rows], target.astype(float)).predict(x_MF)
    return score_M / score_M[rows].std()


def test_the_auc_of_rows_is_scikit_learns():
    generator = np.random.default_rng(1)
    y, scores = generator.random(50) < 0.3, generator.normal(size=(3, 50))
    np.testing.assert_allclose(auc(y, scores), [roc_auc_score(y, row) for row in scores])


def test_a_fit_with_kept_rows_is_that_of_all_rows():
    generator = np.random.default_rng(2)
    x_MF = np.c_[generator.normal(size=(60, 5)), np.ones(60)]
    y_M = generator.random(60) < 0.4
    base, kept = np.arange(40), np.arange(40, 43)
    fit = Fit(x_MF, x_MF[base].T @ x_MF[base], kept, x_MF[base].T @ y_M[base, None].astype(float), 3.0)
    rows = np.r_[base, kept]
    whole = Ridge(alpha=3.0).fit(x_MF[rows, :-1], y_M[rows].astype(float)).predict(x_MF[:, :-1])
    updated_M1 = fit.scores(kept, y_M[kept, None].astype(float), slice(None))
    np.testing.assert_allclose(updated_M1[:, 0], whole, atol=1e-4)  # the intercept is almost free


def test_a_limited_finding_and_its_siblings_are_scored_as_by_hand(hospital):
    teaching, finding, draw, count, alpha = Teaching(hospital, 0, {}), 2, 1, 2, 100.0
    family = frozenset([1, 2, 3])
    outcome = one_finding(
        teaching, finding, {"real": family, "alone": frozenset([2])}, PENALTIES, 10.0, draws=2, look=False
    )
    x_MF, y_MN, rows = teaching.x_MF[:, :-1], hospital.y_MN, teaching.rows
    own = teaching.order(finding, draw, rows)[:count]
    taught = np.r_[rows[~y_MN[rows, finding]], own]
    test = np.flatnonzero(hospital.half_M != 0)

    def gain(taught: np.ndarray, kept: np.ndarray, of: int, judged: np.ndarray) -> tuple[float, float]:
        leaf_M = ridge(x_MF, taught, np.isin(taught, kept), alpha)
        family_M = ridge(x_MF, taught, y_MN[taught][:, [1, 2, 3]].any(1), 10.0)
        labels, prior = (
            roc_auc_score(y_MN[judged, of], score_M[judged]) for score_M in (leaf_M, leaf_M + family_M / 4)
        )
        return labels, prior - labels

    labels, added = gain(taught, own, finding, test)
    assert outcome.labels_DK[draw, 1] == pytest.approx(labels, abs=1e-3)
    assert outcome.prior_DKGW[draw, 1, 0, 0] == pytest.approx(labels + added, abs=1e-3)
    np.testing.assert_array_equal(outcome.prior_DKGW[draw, 1, 1], outcome.labels_DK[draw, 1])
    gains = []
    for sibling in (1, 3):
        for part in (0, 1):
            inner = rows[hospital.part_M[rows] == part]
            neither = inner[~(y_MN[inner, finding] | y_MN[inner, sibling])]
            limited_rows = inner[y_MN[inner, sibling] & ~y_MN[inner, finding]]
            beside = own[(hospital.part_M[own] == part) & ~y_MN[own, sibling]]
            outside = rows[(hospital.part_M[rows] != part) & ~y_MN[rows, finding]]
            judged = np.r_[outside, own[hospital.part_M[own] != part]]
            for inner_draw in range(limited.INNER_DRAWS):
                number = draw * limited.INNER_DRAWS + inner_draw
                kept = teaching.order(sibling, number, limited_rows, salt=1 + finding)[:count]
                gains.append(gain(np.r_[neither, kept, beside], kept, sibling, judged)[1])
    assert outcome.sibling_DKGW[draw, 1, 0, 0] == pytest.approx(np.mean(gains), abs=1e-3)


def test_the_report_has_the_tables_that_the_scores_give():
    report = Path(tables.__file__).with_name("report.md").read_text(encoding="utf-8")
    with np.load(tables.SCORES) as file:
        scores = dict(file)
    for table in tables.TABLES:
        assert "\n".join(table(scores)) in report, "python -m research.graph.prior.tables"
