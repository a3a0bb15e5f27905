"""Print the tables of log.md on the probes of marecg-small, from shipped.csv and rotations.csv.

python -m research.small.shipped_tables
"""

import sys
from pathlib import Path

import pandas as pd
from research.small.twin_tables import FOUR

SCORES = Path(__file__).parent
FILES = {"official folds": "shipped.csv", "rotations": "rotations.csv"}
SHARES = (0.01, 0.1, 1.0)
ON_A_CARD = {
    "full": "encoder, full",
    "concepts": "encoder, beats + concepts",
    "beats": "encoder, beats",
    "zero-shot": "zero-shot, no label",
}


def tables(folds: str) -> dict[str, str]:
    """Return the rows at each share, and at 100 % what `full` gains over each."""
    scores = pd.read_csv(SCORES / FILES[folds]).set_index(["task", "share", "row"])
    rows = dict.fromkeys(scores.index.get_level_values("row"))
    means = {**FOUR, "mean of four": "mean"}
    gained = [row for row in rows if ("mean of four", 1.0, row) in scores.index]
    shares = {row: [_shares(scores, task, row) for task in FOUR] for row in rows}
    gains = {row: [_gain(scores.loc[task, 1.0, row]) for task in means] for row in gained}
    return {"shares": _table(folds, shares, FOUR), "full": _table(f"{folds}, 100 %", gains, means)}


def with_intervals() -> str:
    """Return the rotations with the interval of `full`, and for other rows that of its gain."""
    scores = pd.read_csv(SCORES / FILES["rotations"]).set_index(["task", "share", "row"])
    lines = []
    for row in dict.fromkeys(scores.index.get_level_values("row")):
        cells = [
            [
                _gain(scores.loc[task, share, row])
                for share in (0.0, *SHARES)
                if (task, share, row) in scores.index
            ]
            for task in FOUR
        ]
        if row != "former full":
            lines.append(f"| {ON_A_CARD.get(row, row)} | {' | '.join(map(' / '.join, cells))} |")
    return "\n".join(lines)


def _table(corner: str, cells: dict[str, list[str]], tasks: dict[str, str]) -> str:
    lines = [f"| {corner} | {' | '.join(tasks.values())} |", "|---" * (len(tasks) + 1) + "|"]
    return "\n".join([*lines, *(f"| {row} | {' | '.join(shown)} |" for row, shown in cells.items())])


def _shares(scores: pd.DataFrame, task: str, row: str) -> str:
    keys = [(task, share, row) for share in (0.0, *SHARES)]
    return " / ".join(f"{scores.loc[key, 'auroc']:.1f}" for key in keys if key in scores.index)


def _gain(score: pd.Series) -> str:
    if pd.isna(score["gain"]):
        return f"{score['auroc']:.1f} [{score['low']:.1f}, {score['high']:.1f}]"
    gain = f"({score['gain_low']:.1f}, {score['gain_high']:.1f})".replace("-0.0", "0.0").replace("-", "−")
    return f"{score['auroc']:.1f} {gain}"


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(table for folds in FILES for table in tables(folds).values()) + "\n")
    sys.stdout.write(f"\n{with_intervals()}\n")
