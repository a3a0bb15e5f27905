"""Print the tables in log.md and docs/pretrained.md on twins of marecg-small, from twin.csv and twin2.csv.

A twin is trained like marecg-small, but without PTB-XL's folds 7 and 8, on which it is tested.

python -m research.small.twin_tables
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

SCORES = Path(__file__).parent
TWINS = {"twin": "twin.csv", "second twin": "twin2.csv"}
FOUR = {"ptbxl-super": "super", "ptbxl-sub": "sub", "ptbxl-form": "form", "ptbxl-rhythm": "rhythm"}
SIX = {
    **{"mi-territory": "territory", "NDT": "NDT", "NST": "NST_", "DIG": "DIG"},
    **{"ischaemia-territory": "ischaemia", "INJ": "INJ"},
}
Cell = Callable[[pd.Series], str]


def tables(twin: str) -> dict[str, str]:
    """By name: the four tasks and the six at 100 %, the small shares, and AUPRC with F_max."""
    scores = pd.read_csv(SCORES / TWINS[twin]).set_index(["task", "share", "row"])
    four, six = {**FOUR, "mean of four": "mean"}, {**SIX, "mean of six": "mean"}
    return {
        "four": _table(twin, scores, four, [1], _with_interval),
        "six": _table(twin, scores, six, [1], _with_interval),
        "few": _table(twin, scores, four, [0.01, 0.1], _with_gain),
        "other": _table(twin, scores, four, [1], lambda cell: f"{cell['auprc']:.1f} · {cell['f_max']:.1f}"),
    }


def _with_interval(cell: pd.Series) -> str:
    """AUROC with its interval, or for another row than `full` with that of what `full` gains."""
    if pd.isna(cell["gain"]):
        return f"{cell['auroc']:.1f} [{cell['low']:.1f}, {cell['high']:.1f}]"
    return _with_gain(cell)


def _with_gain(cell: pd.Series) -> str:
    gain = "" if pd.isna(cell["gain"]) else f" ({_signed(cell['gain_low'])}, {_signed(cell['gain_high'])})"
    return f"{cell['auroc']:.1f}{gain}"


def _signed(value: float) -> str:
    return f"{value:.1f}".replace("-0.0", "0.0").replace("-", "−")


def _table(
    twin: str, scores: pd.DataFrame, tasks: dict[str, str], shares: Sequence[float], show: Cell
) -> str:
    lines = [f"| {twin} | {' | '.join(tasks.values())} |", "|---" * (len(tasks) + 1) + "|"]
    for row in dict.fromkeys(scores.index.get_level_values("row")):
        keys = [[(task, share, row) for share in shares] for task in tasks]
        if all(key in scores.index for cells in keys for key in cells):
            shown = [" / ".join(show(scores.loc[key]) for key in cells) for cells in keys]
            lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(table for twin in TWINS for table in tables(twin).values()) + "\n")
