"""Concept scores by ridge regression: its leave-one-out scores by hand, and the tables of the report."""

import numpy as np
from research.concepts import scores, tables
from sklearn.linear_model import Ridge


def test_leave_one_out_scores_are_those_of_fits_without_the_record(monkeypatch):
    monkeypatch.setattr(scores, "ALPHAS", (5.0,))
    generator = np.random.default_rng(0)
    x_MF, y_TN = generator.normal(size=(30, 4)), (generator.random((20, 2)) < 0.4).astype(float)
    teach = np.arange(20)
    score_MN, left_out_TN = scores.ridge(x_MF, y_TN, teach)
    np.testing.assert_allclose(score_MN, Ridge(5.0).fit(x_MF[teach], y_TN).predict(x_MF))
    for row in (0, 7):
        rest = teach[teach != row]
        np.testing.assert_allclose(
            left_out_TN[row], Ridge(5.0).fit(x_MF[rest], y_TN[rest]).predict(x_MF[[row]])[0], atol=0.02
        )


def test_the_report_has_the_tables_that_the_scores_give():
    report = (tables.FOLDER / "report.md").read_text(encoding="utf-8")
    for table in tables.TABLES:
        assert "\n".join(table()) in report, "python -m research.concepts.tables"
