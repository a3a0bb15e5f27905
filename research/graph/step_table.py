"""Print the table of docs/graph.md on the paper's step from C2′ to C2, which adds the graph, from step.csv.

python -m research.graph.step_table
"""

from pathlib import Path

import pandas as pd

from marecg_research.graph.differences import over

FOLDER = Path(__file__).parent
TASKS = ("super", "sub", "form", "rhythm")


def units() -> pd.DataFrame:
    """Return the macro AUC in percent: a row per training seed, task and share, and a column per arm."""
    scores = pd.read_csv(FOLDER / "step.csv")
    return scores.pivot_table("auc", ["unit", "task", "share"], "arm")


def rows() -> dict[str, pd.DataFrame]:
    """Return the scores that each row of the table averages, by the row's name."""
    scores = units()
    by_task = {name: scores.xs(name, level="task") for name in TASKS}
    return {"**twelve cells**": scores} | by_task


def table() -> str:
    """Return the table: means of the arms, and the gains of C2 over C2′ and over a graph without edges."""
    lines = [
        "| h_rhythm, linear probe | C2′ | C2, real | C2, edgeless | C2 − C2′ | real − edgeless |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, cells in rows().items():
        means = cells.groupby("unit").mean()
        arms = [f"{means[arm].mean():.2f}" for arm in ("c2p", "real", "edgeless")]
        gains = [over(means["real"] - means[arm]) for arm in ("c2p", "edgeless")]
        words = [*arms, *(f"{mean:+.2f} ± {reach:.2f}".replace("-", "−") for mean, reach in gains)]
        lines.append(f"| {name} | {' | '.join(words)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
