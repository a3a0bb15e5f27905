"""What docs/graph.md says of the paper's step is what its scores say."""

import pandas as pd
from tests.docs.step_tables import FOLDER, TASKS, table, units

PAGE = (FOLDER.parent / "graph.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_that_the_scores_give():
    assert table() in PAGE, "python -m tests.docs.step_tables"


def test_every_training_has_twelve_cells_in_all_three_arms():
    scores = units()
    cells = pd.MultiIndex.from_product([range(5), sorted(TASKS), (0.01, 0.1, 1.0)])
    assert scores.index.sort_values().tolist() == cells.tolist()
    assert set(scores.columns) == {"c2p", "real", "edgeless"}
    assert scores.notna().all(axis=None)


def test_the_gain_is_the_mean_of_what_each_training_gains():
    by_training = units().groupby("unit").mean()
    gain = (by_training["real"] - by_training["c2p"]).mean()
    assert f"{gain:+.2f} ± " in table().splitlines()[2]
