"""The tables of the shipped encoder that was probed again, in docs/small.md, from the scores beside it.

python -m tests.docs.shipped_tables
"""

import sys
from pathlib import Path

import pandas as pd
from tests.docs.twin_tables import FOUR

SCORES = Path(__file__).parents[2] / "docs" / "small" / "shipped.csv"
SHARES = (0.01, 0.1, 1.0)


def tables() -> dict[str, str]:
    """Return the official folds at each share, and at 100 % what `full` gains over each row."""
    scores = pd.read_csv(SCORES).set_index(["task", "share", "row"])
    rows = dict.fromkeys(scores.index.get_level_values("row"))
    means = {**FOUR, "mean of four": "mean"}
    gained = [row for row in rows if ("mean of four", 1.0, row) in scores.index]
    shares = {row: [_shares(scores, task, row) for task in FOUR] for row in rows}
    gains = {row: [_gain(scores.loc[task, 1.0, row]) for task in means] for row in gained}
    return {"shares": _table("official folds", shares, FOUR), "full": _table("100 %", gains, means)}


def _table(corner: str, cells: dict[str, list[str]], tasks: dict[str, str]) -> str:
    lines = [f"| {corner} | {' | '.join(tasks.values())} |", "|---" * (len(tasks) + 1) + "|"]
    return "\n".join([*lines, *(f"| {row} | {' | '.join(shown)} |" for row, shown in cells.items())])


def _shares(scores: pd.DataFrame, task: str, row: str) -> str:
    keys = [(task, share, row) for share in (0.0, *SHARES)]
    return " / ".join(f"{scores.loc[key, 'auroc']:.1f}" for key in keys if key in scores.index)


def _gain(score: pd.Series) -> str:
    if pd.isna(score["gain"]):
        return f"{score['auroc']:.1f} [{score['low']:.1f}, {score['high']:.1f}]"
    return f"{score['auroc']:.1f} ({score['gain_low']:.1f}, {score['gain_high']:.1f})".replace("-", "−")


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(tables().values()) + "\n")
