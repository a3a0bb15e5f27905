"""The tables of the graph experiment follow from its scores."""

import numpy as np
import pandas as pd
import pytest
from research.graph import answer_table, make_tables, step_table
from scipy import stats

from marecg_research.graph.differences import over

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


def test_the_pages_have_the_tables_of_the_papers_step():
    assert step_table.table(step_table.units()) in PAGE, "python -m research.graph.step_table"
    former = (step_table.FOLDER / "second-edition.md").read_text(encoding="utf-8")
    assert step_table.table(step_table.former()) in former


def test_the_page_has_the_table_of_answers():
    assert answer_table.table() in PAGE, "python -m research.graph.answer_table"


def test_intervals_over_draws_and_findings_are_those_of_equal_draws_if_nothing_else_differs():
    at = pd.MultiIndex.from_product([range(10), ["a", "b", "c", "d"]], names=["seed", "endpoint"])
    by_finding = pd.Series([1.0, 2.0, 3.0, 6.0] * 10, at)
    mean, reach = answer_table.clustered(by_finding)
    values = np.array([1.0, 2.0, 3.0, 6.0])
    assert mean == values.mean()
    assert reach == pytest.approx(stats.t.ppf(0.975, 3) * values.std(ddof=1) / 2, rel=0.05)


@pytest.mark.parametrize(
    ("scores", "units", "arms"),
    [
        (step_table.units(), 12, {"c2p", "real", "edgeless", "paper"}),
        (step_table.former(), 5, {"c2p", "real", "edgeless"}),
    ],
)
def test_every_unit_has_twelve_cells_in_all_arms(scores, units, arms):
    cells = pd.MultiIndex.from_product([range(units), sorted(step_table.TASKS), (0.01, 0.1, 1.0)])
    assert scores.index.sort_values().tolist() == cells.tolist()
    assert set(scores.columns) == arms
    assert scores.notna().all(axis=None)


def test_the_gain_is_the_mean_of_what_each_training_gains():
    by_unit = step_table.units().groupby("unit").mean()
    gain = by_unit["real"] - by_unit["c2p"]
    reach = stats.t.ppf(0.975, 11) * gain.std() / np.sqrt(12)
    expected = f"{gain.mean():+.2f} ± {reach:.2f}".replace("-", "−")
    assert expected in step_table.table(step_table.units()).splitlines()[2]


def test_the_readme_has_the_gain_and_the_part_of_the_edges():
    text = " ".join((step_table.FOLDER.parents[1] / "README.md").read_text(encoding="utf-8").split())
    for other in ("c2p", "edgeless"):
        span = answer_table.span(*over(answer_table.units_gain("real", other)), digits=2)
        gain, interval = span.replace("+", "").split(" ", 1)
        assert gain in text
        assert interval in text


def test_a_unit_without_all_arms_does_not_count(tmp_path, monkeypatch):
    scores = pd.read_csv(step_table.FOLDER / "units.csv")
    scores[~((scores["unit"] == 3) & (scores["arm"] == "paper"))].to_csv(tmp_path / "units.csv")
    monkeypatch.setattr(step_table, "FOLDER", tmp_path)
    assert 3 not in step_table.units().index.get_level_values("unit")
