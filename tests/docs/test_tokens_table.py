"""The table of docs/small.md on tokens that are asked for ST and T, from the scores beside it."""

from pathlib import Path

import pandas as pd

DOCS = Path(__file__).parents[2] / "docs"
FOUR = ["super", "sub", "form", "rhythm", "mean of four"]
SIX = ["territory", "NDT", "NST", "DIG", "ischaemia", "INJ", "mean of six"]


def lines(tasks: list[str]) -> list[str]:
    """A line per readout: control's AUC, and the arm's gain with its interval."""
    scores = pd.read_csv(DOCS / "small" / "tokens.csv").set_index(["readout", "arm", "task"])
    rows = []
    for readout in ("beats", "wide"):
        cells = []
        for task in tasks:
            arm = scores.loc[readout, "a", task]
            gain, low, high = (f"{arm[key]:.1f}" for key in ("gain", "gain_low", "gain_high"))
            gain = gain if gain.startswith("-") else f"+{gain}"
            cell = f"{scores.loc[readout, 'control', task]['auroc']:.1f} ({gain} [{low}, {high}])"
            cells.append(cell.replace("-0.0", "0.0").replace("+0.0", "0.0").replace("-", "−"))
        rows.append(f"| {readout} | {' | '.join(cells)} |")
    return rows


def test_the_page_has_the_scores_beside_it():
    page = (DOCS / "small.md").read_text(encoding="utf-8")
    for line in (*lines(FOUR), *lines(SIX)):
        assert line in page
