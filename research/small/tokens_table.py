"""Return the tables of log.md on patch tokens that keep each lead's ST and T, from tokens.csv."""

from pathlib import Path

import pandas as pd

SCORES = Path(__file__).parent
FOUR = ["super", "sub", "form", "rhythm", "mean of four"]
SIX = ["territory", "NDT", "NST", "DIG", "ischaemia", "INJ", "mean of six"]


def lines(tasks: list[str]) -> list[str]:
    """For each readout a line of control's AUC, and one per arm of its gain with the interval."""
    scores = pd.read_csv(SCORES / "tokens.csv").set_index(["readout", "arm", "task"])
    rows = []
    for readout in ("beats", "wide"):
        of_control = [f"{scores.loc[readout, 'control', task]['auroc']:.1f}" for task in tasks]
        rows.append(f"| {readout}, control | {' | '.join(of_control)} |")
        for arm in ("a", "b"):
            gains = [_gain(scores.loc[readout, arm, task]) for task in tasks]
            rows.append(f"| … ({arm}) gains | {' | '.join(gains)} |")
    return rows


def _gain(score: pd.Series) -> str:
    gain, low, high = (f"{score[key]:.1f}" for key in ("gain", "gain_low", "gain_high"))
    gain = gain if gain.startswith("-") else f"+{gain}"
    return f"{gain} [{low}, {high}]".replace("-0.0", "0.0").replace("+0.0", "0.0").replace("-", "−")
