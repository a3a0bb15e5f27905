"""Write the tables of the graph experiment (tables.md) and their plot (forest.svg), from scores.parquet.

python -m research.graph.make_tables
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from marecg_research.graph.differences import difference
from marecg_research.graph.endpoints import PRIMARY, SIGMA, chosen_sigmas, leaves_of, units
from marecg_research.graph.verdict import write_answer

FOLDER = Path(__file__).parent
PICTURE = FOLDER / "forest.svg"
ENCODERS = {
    0: "marecg-small, pretrained under GSCL on these codes",
    1: "small-c1, 300 steps of 32 without codes",
    2: "untrained, seed 0",
    3: "untrained, seed 1",
}
"""By the number of the base in scores.parquet."""
HEADER = """# Does the graph help? The tables

From [the raw scores](scores.parquet), as `python -m research.graph.make_tables` writes them; a test compares.
One section for each encoder: intervals are over its seeds, so they are about that encoder alone;
the last section has both.
[What they say](../../docs/graph.md), [the plan](plan.md), [the first edition](first-edition.md).
"""

CROSSED = """## Both encoders together

Encoder + seed + residual, all random, over the seeds that both encoders have, σ chosen for each encoder;
degrees of freedom by Satterthwaite. Where two encoders differ, one degree is left, and intervals are wide.

| regime: difference | seeds | points | ± | df | variance: encoder, seed, rest |
| --- | ---: | ---: | ---: | ---: | ---: |
"""
PAIRS = (
    ("real", "shuffles"),
    ("real", "edgeless"),
    ("real", "inference only"),
    ("families", "edgeless"),
    ("families", "random families"),
    ("labels", "edgeless"),
)


def crossed_rows(kept: pd.DataFrame) -> Iterator[str]:
    """Yield a row per regime and difference of arms, for regimes with several seeds on several encoders."""
    for regime, of_regime in kept.groupby("regime", sort=False):
        parts = [part for _, part in of_regime.groupby("base")]
        tables = [units(part, PRIMARY, chosen_sigmas(part) or SIGMA) for part in parts]
        seeds = set.intersection(*(set(table.index.unique("seed")) for table in tables))
        if len(tables) < 2 or len(seeds) < 2:
            continue
        table = pd.concat(tables)
        for arm, other in PAIRS:
            of = difference(table, arm, other)
            variances = ", ".join(f"{value:.2f}" for value in (of.base, of.seed, of.residual))
            values = f"{of.mean:+.2f} | {of.reach:.2f} | {of.df:.1f} | {variances}"
            yield f"| {regime}: {arm} − {other} | {len(seeds)} | {values} |"


def tables() -> tuple[str, str]:
    """Return the page of all tables, and the plot of the first encoder."""
    kept = pd.read_parquet(FOLDER / "scores.parquet")
    kept = kept.astype({"regime": str, "arm": str, "endpoint": str, "sigma": "float64"})
    leaves = pd.read_csv(FOLDER / "leaves.csv")
    texts, pictures = [HEADER], []
    with TemporaryDirectory() as folder:
        for base, part in kept.groupby("base"):
            own = {name: leaves_of(name, leaves) for name in part["regime"].unique()}
            texts.append(f"## {ENCODERS[int(base)]}\n\n{write_answer(part, own, Path(folder))}")
            pictures.append((Path(folder) / "forest.svg").read_text(encoding="utf-8"))
    texts.append(CROSSED + "\n".join(crossed_rows(kept)))
    return "\n".join(texts).rstrip() + "\n", pictures[0]


if __name__ == "__main__":
    for path, text in zip((FOLDER / "tables.md", PICTURE), tables(), strict=True):
        path.write_text(text, encoding="utf-8")
