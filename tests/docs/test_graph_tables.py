"""Every figure of docs/graph.md is among tables that follow from the scores beside them."""

import pandas as pd
import pytest
from tests.docs import graph_tables

from marecg_research.graph.differences import over


def test_the_tables_follow_from_the_raw_scores():
    text, _ = graph_tables.tables()
    assert (graph_tables.FOLDER / "tables.md").read_text(encoding="utf-8") == text


def test_a_difference_of_the_tables_is_what_the_scores_give_by_hand():
    kept = pd.read_parquet(graph_tables.FOLDER / "scores.parquet").astype({"value": "float64"})
    of = kept[(kept["regime"] == "all") & (kept["base"] == 0) & (kept["endpoint"] == "primary")]
    real = of[(of["arm"] == "real") & (of["sigma"] == 0.5)].set_index("seed")["value"]
    edgeless = of[of["arm"] == "edgeless"].set_index("seed")["value"]
    text = (graph_tables.FOLDER / "tables.md").read_text(encoding="utf-8")
    assert f"| 0.5 | {real.mean():.2f} | " in text
    assert f" | {(real - edgeless).mean():+.2f} | " in text
    assert (real - edgeless).mean() == pytest.approx(-1.27, abs=0.01)


def test_few_records_give_the_pages_figures_over_the_draws_that_no_earlier_run_had():
    kept = pd.read_parquet(graph_tables.FOLDER / "scores.parquet").astype({"value": "float64"})
    few = kept[kept["regime"].isin(["k = 1", "k = 2", "k = 5"]) & (kept["endpoint"] == "primary")]
    by_draw = few[few["seed"] >= 6].pivot_table("value", "seed", "arm", observed=True)
    mean, reach = over(by_draw["real"] - by_draw["edgeless"])
    page = (graph_tables.FOLDER.parent / "graph.md").read_text(encoding="utf-8")
    assert (
        f"over the {len(by_draw)} draws that no earlier run can have had, {mean:+.2f} ± {reach:.2f}" in page
    )
    assert (few["arm"].str.startswith("shuffle ")).any()
    means = few.groupby("arm", observed=True)["value"].mean()
    shuffled = [arm for arm in means.index if arm.startswith("shuffle ")]
    assert len(shuffled) == 8
    assert (means[shuffled] < means["real"]).all()


def test_both_encoders_together_have_the_pages_intervals_over_the_seeds_that_both_have():
    kept = pd.read_parquet(graph_tables.FOLDER / "scores.parquet")
    kept = kept.astype({"regime": str, "arm": str, "endpoint": str, "sigma": "float64", "value": "float64"})
    rows = dict(row.strip("| ").split(" | ", 1) for row in graph_tables.crossed_rows(kept))
    page = (graph_tables.FOLDER.parent / "graph.md").read_text(encoding="utf-8").replace("−", "-")
    for name, words in {
        "all: real − shuffles": "real - shuffles is",
        "all: real − edgeless": "real - none",
        "all: families − edgeless": "families - none",
        "left-out: real − inference only": "real - a family's score is",
    }.items():
        seeds, mean, reach, *_ = rows[name].split(" | ")
        assert f"{words} {mean} ± {reach}" in page
        assert seeds == ("4" if name.startswith("all") else "5")


def test_the_scores_are_small_enough_to_keep():
    assert (graph_tables.FOLDER / "scores.parquet").stat().st_size < 1_000_000
