"""Print the tables of log.md on ways to average the classifiers of the full readout, from average.csv.

python -m research.small.average_table
"""

import sys
from pathlib import Path

import pandas as pd

SCORES = Path(__file__).parent
PARTS = ("choosing", "confirming")
SHOWN = [
    ("E+c B+c M", "standardised"),
    ("E B M", "as they are"),
    ("E B M C", "as they are"),
    ("E M", "as they are"),
    ("E M C", "standardised"),
    ("B", ""),
    ("B+c", ""),
]


def table(part: str) -> list[str]:
    """A line per average: the four tasks at 100 %, and the mean with its gain at each share."""
    scores = pd.read_csv(SCORES / "average.csv", keep_default_na=False, na_values=[])
    scores = scores.set_index(["part", "share", "average", "logits"])
    lines = ["| average | super | sub | form | rhythm | 100 % | 10 % | 1 % |", "|---" * 8 + "|"]
    for average, logits in SHOWN:
        whole, *few = (scores.loc[part, share, average, logits] for share in (1.0, 0.1, 0.01))
        tasks = [f"{float(whole[task]):.1f}" for task in ("super", "sub", "form", "rhythm")]
        means = [_mean(cell) for cell in (whole, *few)]
        name = f"{average}, {logits}" if logits else average
        lines.append(f"| {name} | {' | '.join([*tasks, *means])} |".replace("-", "−"))
    return lines


def _mean(cell: pd.Series) -> str:
    gain = f" [{cell['gain_low']}, {cell['gain_high']}]" if cell["gain"] else ""
    return f"{float(cell['mean']):.2f}{gain}"


if __name__ == "__main__":
    sys.stdout.write("\n\n".join("\n".join(table(part)) for part in PARTS) + "\n")
