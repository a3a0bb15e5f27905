"""The tables and the picture of docs/graph, from the scores that lie beside them.

python -m tests.docs.graph_tables
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from marecg_experiments.graph.endpoints import leaves_of
from marecg_experiments.graph.verdict import write_answer

FOLDER = Path(__file__).parents[2] / "docs" / "graph"
ENCODERS = {
    0: "marecg-small, pretrained under GSCL on these codes",
    1: "small-c1, 300 steps of 32 without codes",
    2: "untrained, seed 0",
    3: "untrained, seed 1",
}
"""By the number of the base in scores.parquet."""
HEADER = """# Does the graph help? The tables

From [the raw scores](scores.parquet), as `python -m tests.docs.graph_tables` writes them; a test compares.
One section for each encoder: intervals are over its seeds, so they are about that encoder alone.
[What they say](../graph.md), [the plan](plan.md), [the first edition](first-edition.md).
"""


def tables() -> tuple[str, str]:
    """The page of all tables, and the picture of the first encoder."""
    kept = pd.read_parquet(FOLDER / "scores.parquet")
    kept = kept.astype({"regime": str, "arm": str, "endpoint": str, "sigma": "float64"})
    leaves = pd.read_csv(FOLDER / "leaves.csv")
    texts, pictures = [HEADER], []
    with TemporaryDirectory() as folder:
        for base, part in kept.groupby("base"):
            own = {name: leaves_of(name, leaves) for name in part["regime"].unique()}
            texts.append(f"## {ENCODERS[int(base)]}\n\n{write_answer(part, own, Path(folder))}")
            pictures.append((Path(folder) / "forest.svg").read_text(encoding="utf-8"))
    return "\n".join(texts).rstrip() + "\n", pictures[0]


if __name__ == "__main__":
    for name, text in zip(("tables.md", "forest.svg"), tables(), strict=True):
        (FOLDER / name).write_text(text, encoding="utf-8")
