"""Every figure of docs/graph.md is among tables that follow from the scores beside them."""

import pandas as pd
import pytest
from tests.docs import graph_tables


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
