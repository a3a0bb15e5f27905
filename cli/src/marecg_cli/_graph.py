"""The command that asks whether the graph helps.

It imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._options import LOCAL
from marecg_cli._output import message, result


def ablate_graph(
    base: Annotated[
        list[Path], typer.Argument(help="Runs that differ in their seed alone, such as of small-c1.")
    ],
    data: Annotated[Path, typer.Option(**LOCAL, help="The prepared corpus whose codes teach and test.")],
    out: Annotated[
        Path, typer.Option(help="A folder for scores and answer; the same command goes on in it.")
    ],
    root: Annotated[
        Path | None,
        typer.Option(help="PTB-XL, whose own hierarchy judges mistakes and neighbours.", show_default=False),
    ] = None,
    test_source: Annotated[str, typer.Option(help="The source that tests and never teaches.")] = "ptbxl",
    shuffles: Annotated[int, typer.Option(help="Control graphs whose leaves are exchanged.", min=1)] = 20,
    seeds: Annotated[int, typer.Option(help="Draws and first weights per base, with all codes.", min=1)] = 10,
    regime_seeds: Annotated[
        int, typer.Option(help="The same with few or coarse codes, and with leaves left out.", min=0)
    ] = 5,
    sigma: Annotated[
        list[float] | None,
        typer.Option(help="Of the soft targets; may be repeated. [default: 0.25 0.5 1]", show_default=False),
    ] = None,
    steps: Annotated[
        list[int] | None,
        typer.Option(help="When all is scored; may be repeated. [default: 100 200 400]", show_default=False),
    ] = None,
) -> None:
    """Tell whether the graph helps: train heads on frozen bases that differ in nothing but their graph.

    The real graph stands beside graphs of the same shape over other concepts, parts of itself, none, and
    plain labels, on equal draws. Writes scores/*.parquet, leaves.csv, table.md and forest.svg, and prints
    the table. docs/graph/plan.md says how it is judged.

    Example: marecg ablate-graph base-0 base-1 base-2 --data corpus --out graph --root ptb-xl
    """
    import pandas as pd

    from ecg_ontology import Kind, perturb
    from marecg.corpus.prepared import Corpus
    from marecg.evaluate.graph.experiment import experiment
    from marecg.evaluate.graph.page import write_answer

    real = Corpus.open(data).ontology()
    controls = {f"shuffle {seed}": perturb.shuffled(real, seed) for seed in range(shuffles)}
    controls |= {"flat": perturb.flat(real), "no siblings": perturb.without(real, [Kind.sibling])}
    scores = experiment(
        base,
        data,
        out,
        controls=controls,
        seeds={"all": seeds, "left-out": regime_seeds, "few": regime_seeds, "coarse": regime_seeds},
        root=root,
        test_source=test_source,
        sigmas=sigma or (0.25, 0.5, 1.0),
        marks=sorted(steps or (100, 200, 400)),
    )
    result(write_answer(scores, pd.read_csv(out / "leaves.csv"), out))
    message(f"written: {out / 'table.md'}, {out / 'forest.svg'}")
