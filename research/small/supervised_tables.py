"""Print the tables of log.md on networks trained from scratch on the labels, from s4.csv and twin.csv.

python -m research.small.supervised_tables
"""

import sys
from collections.abc import Sequence

import pandas as pd
from research.small.twin_tables import FOUR, SCORES

OF_THE_TWIN = ("full", "beats", "hand-crafted", "MiniRocket + ridge")
"""Rows on the same records."""


def tables() -> dict[str, str]:
    """Return AUROC beside the twin's rows, and what the networks have alone, with intervals."""
    networks = pd.read_csv(SCORES / "s4.csv")
    twin = pd.read_csv(SCORES / "twin.csv")
    twin = twin[(twin["share"] == 1) & twin["row"].isin(OF_THE_TWIN)]
    return {
        "AUROC": _table("AUROC", pd.concat([twin, networks]), ["auroc", "low", "high"]),
        "AUPRC": _table("AUPRC", networks, ["auprc", "auprc_low", "auprc_high"]),
        "paired": _table("minus MiniRocket", networks, ["over_minirocket", "over_low", "over_high"]),
        "F_max": _table("F_max", networks, ["f_max", "f_max_low", "f_max_high"]),
    }


def _table(corner: str, scores: pd.DataFrame, columns: Sequence[str]) -> str:
    lines = [f"| {corner} | {' | '.join(FOUR.values())} |", "|---" * (len(FOUR) + 1) + "|"]
    cells = scores.set_index(["row", "task"])[list(columns)]
    for row in dict.fromkeys(scores["row"]):
        shown = [_cell(cells.loc[row, task]) if (row, task) in cells.index else "–" for task in FOUR]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _cell(figure: pd.Series) -> str:
    value, low, high = figure
    return f"{value:.1f} [{low:.1f}, {high:.1f}]".replace("-", "−")


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(tables().values()) + "\n")
