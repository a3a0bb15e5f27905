"""The command that asks whether the graph helps."""

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
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change the design: seeds=3 and regime_seeds=3 of heads per base, shuffles=20, "
            "sigmas=[0.5,1], steps=[100,200], test_source=ptbxl; branch_steps=200 trains the encoder, too, "
            'for branch_arms=["none","real"] at branch_sigma=0.5.',
        ),
    ] = None,
) -> None:
    """Tell whether the graph helps: train heads on frozen bases that differ in nothing but their graph.

    The real graph stands beside graphs of the same shape over other concepts, parts of itself, none, and
    plain labels, on equal draws. With branch_steps the encoder itself goes on from each base under each arm.
    Writes scores/*.parquet, leaves.csv, table.md and forest.svg, and prints the table. docs/graph/plan.md
    says how it is judged.

    Example: marecg ablate-graph base-0 base-1 base-2 --data corpus --out graph --root ptb-xl
    """
    import pandas as pd

    from ecg_ontology import Kind, perturb
    from marecg.corpus.prepared import Corpus
    from marecg.evaluate.graph.arms import Design
    from marecg.evaluate.graph.experiment import experiment
    from marecg.evaluate.graph.page import write_answer
    from marecg.recipes.overrides import with_settings

    design = with_settings(Design, set_ or [])
    real = Corpus.open(data).ontology()
    controls = {f"shuffle {seed}": perturb.shuffled(real, seed) for seed in range(design.shuffles)}
    controls |= {"flat": perturb.flat(real), "no siblings": perturb.without(real, [Kind.sibling])}
    scores = experiment(base, data, out, design, controls, root)
    result(write_answer(scores, pd.read_csv(out / "leaves.csv"), out))
    message(f"written: {out / 'table.md'}, {out / 'forest.svg'}")
