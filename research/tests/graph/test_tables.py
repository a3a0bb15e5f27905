"""The tables of the graph experiment follow from its scores."""

import numpy as np
import pandas as pd
import pytest
from research.graph import answer_table, make_tables, step_table
from scipy import stats

PAGE = (step_table.FOLDER.parents[1] / "docs" / "graph.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_tables_follow_from_the_raw_scores():
    text, _ = make_tables.tables()
    assert (make_tables.FOLDER / "tables.md").read_text(encoding="utf-8") == text


def test_a_difference_of_the_tables_is_what_the_scores_give_by_hand():
    kept = pd.read_parquet(make_tables.FOLDER / "scores.parquet").astype({"value": "float64"})
    of = kept[(kept["regime"] == "all") & (kept["base"] == 0) & (kept["endpoint"] == "primary")]
    real = of[(of["arm"] == "real") & (of["sigma"] == 0.5)].set_index("seed")["value"]
    edgeless = of[of["arm"] == "edgeless"].set_index("seed")["value"]
    text = (make_tables.FOLDER / "tables.md").read_text(encoding="utf-8")
    assert f"| 0.5 | {real.mean():.2f} | " in text
    assert f" | {(real - edgeless).mean():+.2f} | " in text
    assert (real - edgeless).mean() == pytest.approx(-1.27, abs=0.01)


def test_the_page_has_the_table_of_the_papers_step():
    assert step_table.table() in PAGE


def test_the_page_has_the_table_of_answers():
    assert answer_table.table() in PAGE, "python -m research.graph.answer_table"


def test_intervals_over_draws_and_findings_are_those_of_equal_draws_if_nothing_else_differs():
    at = pd.MultiIndex.from_product([range(10), ["a", "b", "c", "d"]], names=["seed", "endpoint"])
    by_finding = pd.Series([1.0, 2.0, 3.0, 6.0] * 10, at)
    mean, reach = answer_table.clustered(by_finding)
    values = np.array([1.0, 2.0, 3.0, 6.0])
    assert mean == values.mean()
    assert reach == pytest.approx(stats.t.ppf(0.975, 3) * values.std(ddof=1) / 2, rel=0.05)


def test_every_training_has_twelve_cells_in_all_three_arms():
    scores = step_table.units()
    cells = pd.MultiIndex.from_product([range(5), sorted(step_table.TASKS), (0.01, 0.1, 1.0)])
    assert scores.index.sort_values().tolist() == cells.tolist()
    assert set(scores.columns) == {"c2p", "real", "edgeless"}
    assert scores.notna().all(axis=None)


def test_the_gain_is_the_mean_of_what_each_training_gains():
    by_training = step_table.units().groupby("unit").mean()
    gain = (by_training["real"] - by_training["c2p"]).mean()
    assert f"{gain:+.2f} ± " in step_table.table().splitlines()[2]
