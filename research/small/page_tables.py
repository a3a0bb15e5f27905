"""Tables of docs/pretrained.md, from twin2.csv and rotations.csv.

python -m research.small.page_tables
"""

import sys
from pathlib import Path

import pandas as pd
from research.small.twin_tables import FOUR

FOLDER = Path(__file__).parent
COLUMNS = {
    "MiniRocket + ridge": "MiniRocket",
    "random encoder, full": "our readout, random weights",
    "full": "our readout, pretrained",
}
LABELS = {0.01: "16", 0.1: "160", 1.0: "1,600"}
UNSEEN = {
    "full": "marecg-small's twin, full",
    "concepts": "… concepts",
    "beats": "… beats",
    "wide": "… wide",
    "h_rhythm": "… h_rhythm, the paper's",
    "random encoder, full": "random encoder, full",
    "hand-crafted": "hand-crafted values",
    "MiniRocket + ridge": "MiniRocket",
    "attention over tokens": "attention over tokens",
}


def scores(file: str) -> pd.DataFrame:
    """Return the macro AUC in percent by task, share and row."""
    return pd.read_csv(FOLDER / file).set_index(["task", "share", "row"])["auroc"].to_frame()


def gains() -> str:
    """Return the mean of the four tasks by number of labels and reader, on records unseen in pretraining."""
    table = scores("twin2.csv")
    lines = [f"| labelled ECGs | {' | '.join(COLUMNS.values())} |", "|---|---:|---:|---:|"]
    for share, labels in LABELS.items():
        figures = [table.loc[("mean of four", share, row), "auroc"] for row in COLUMNS]
        lines.append(f"| {labels} | {' | '.join(f'{figure:.1f}' for figure in figures)} |")
    return "\n".join(lines)


def by_task(file: str, share: float, rows: dict[str, str]) -> str:
    """Return the four tasks at a share of the labels."""
    table = scores(file)
    lines = [f"| read from | {' | '.join(FOUR.values())} |", "|---|---:|---:|---:|---:|"]
    for row, title in rows.items():
        figures = [table.loc[(task, share, row), "auroc"] for task in FOUR]
        lines.append(f"| {title} | {' | '.join(f'{figure:.1f}' for figure in figures)} |")
    return "\n".join(lines)


def tables() -> list[str]:
    """Return the page's tables."""
    return [gains(), by_task("twin2.csv", 1.0, UNSEEN)]


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(tables()) + "\n")
