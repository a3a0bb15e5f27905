"""Print the tables on the paper's step from C2′ to C2, which adds the graph.

    python -m research.graph.step_table

The first table is on docs/graph.md, from units.csv. The second one is an earlier experiment's, on
second-edition.md, from step.csv.
"""

from pathlib import Path

import pandas as pd

from marecg_research.graph.differences import over

FOLDER = Path(__file__).parent
TASKS = ("super", "sub", "form", "rhythm")
HEADS = {"c2p": "C2′", "real": "C2", "edgeless": "edgeless", "paper": "paper's settings"}
GAINS = (("real", "c2p"), ("paper", "c2p"), ("real", "edgeless"))


def units() -> pd.DataFrame:
    """Return the macro AUC in percent of complete units: a row per unit, task and share, a column per arm.

    A cell is the mean over the classes and draws of units.csv.
    """
    scores = pd.read_csv(FOLDER / "units.csv")
    by_arm = scores.pivot_table("auc", ["unit", "task", "share"], "arm", observed=True) * 100
    return by_arm[by_arm.notna().all(axis=1).groupby("unit").transform("all")]


def former() -> pd.DataFrame:
    """Return the scores of the earlier experiment, as `units` does."""
    return pd.read_csv(FOLDER / "step.csv").pivot_table("auc", ["unit", "task", "share"], "arm")


def table(scores: pd.DataFrame) -> str:
    """Return the table: means of the arms, and differences of arms ± their 95 % t interval over units."""
    arms = [arm for arm in HEADS if arm in scores]
    gains = [pair for pair in GAINS if {*pair} <= {*arms}]
    heads = [HEADS[arm] for arm in arms] + [" − ".join(HEADS[arm] for arm in pair) for pair in gains]
    lines = [f"| h_rhythm, linear probe | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    rows = {"**twelve cells**": scores} | {name: scores.xs(name, level="task") for name in TASKS}
    for name, cells in rows.items():
        by_unit = cells.groupby("unit").mean()
        differences = [over(by_unit[one] - by_unit[other]) for one, other in gains]
        words = [
            *(f"{by_unit[arm].mean():.2f}" for arm in arms),
            *(f"{mean:+.2f} ± {reach:.2f}".replace("-", "−") for mean, reach in differences),
        ]
        lines.append(f"| {name} | {' | '.join(words)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(units()))
    print(table(former()))
