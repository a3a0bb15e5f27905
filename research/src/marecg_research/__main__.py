"""Run the command line of the experiments: `python -m marecg_research COMMAND`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

import ecg_ontology
from ecg_base import EcgError, UsageError, replacing
from marecg.base.markdown import table
from marecg.evaluate.request import Request
from marecg.evaluate.scores.results import remarks
from marecg.evaluate.scores.summary import WIDE
from marecg.evaluate.table_print import FORMATS, records
from marecg.evaluate.tasks.registry import roots
from marecg.evaluate.tasks.task import Folds
from marecg.recipes import by_name
from marecg.recipes.overrides import with_settings
from marecg_research import ablate as ablation
from marecg_research.graph.endpoints import endpoints, leaves_of
from marecg_research.graph.experiment import experiment
from marecg_research.graph.records import Design
from marecg_research.graph.verdict import write_answer
from marecg_research.leaderboard import NOTE, averaged, heads_and_lines, standings
from marecg_research.merl_positional import write_positional
from marecg_research.perturb import control_of

app = typer.Typer(
    help="Experiments around MAR-ECG: ablations, comparators, and whether the graph helps.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


class Equal(StrEnum):
    """Budget that all recipes of an ablation have in common."""

    records = "records"
    flops = "flops"


@app.command()
def ablate(
    data: Annotated[Path, typer.Option(help="Corpus written by `marecg prepare`.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs. Finished runs in it are reused.")],
    root: Annotated[
        list[str],
        typer.Option(
            metavar="[DATA=]PATH",
            help="Data of the tasks. For tasks on several datasets, repeat it: --root ptbxl=PATH.",
        ),
    ],
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECIPE]...",
            help="Recipes by name, mine.toml, mine.py:recipe, or RECIPE@GRAPH. [default: c1 c2p c2 c3]",
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(help="Task of `marecg probe`. Can be repeated. [default: ptbxl-super]"),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="Compare values of a setting of one recipe, for example gscl.sigma=0.5,1,2. Can be repeated "
            "for all combinations.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of runs per recipe or combination.", min=1)] = 1,
    equal: Annotated[
        list[Equal] | None,
        typer.Option(
            help="Budget that all recipes have in common: records, or the FLOPs of the first recipe. Can be "
            "repeated for both. [default: records]"
        ),
    ] = None,
    record_count: Annotated[
        int | None,
        typer.Option(
            "--records",
            help="Records to train on; with equal FLOPs, those of the first recipe. [default: by epochs]",
            min=1,
        ),
    ] = None,
    fraction: Annotated[
        list[float] | None,
        typer.Option(help="Share of the training records of the probe. Can be repeated. [default: 1]"),
    ] = None,
    draws: Annotated[int, typer.Option(help="Number of draws of each share below 1.", min=1)] = 5,
    folds: Annotated[
        list[str] | None,
        typer.Option(help="Folds for TRAIN,VAL,TEST, such as 1-5,6,7-8. Can be repeated for rotations."),
    ] = None,
    readout: Annotated[
        Literal["rhythm", "wide", "beats", "full", "concepts"],
        typer.Option(help="Readout that is compared."),
    ] = "rhythm",
    splits: Annotated[Path | None, typer.Option(help="Folder of MERL's split tables.")] = None,
    resamples: Annotated[
        int, typer.Option(help="Number of resamples of the test records for intervals.", min=1)
    ] = 1000,
    without: Annotated[
        list[str] | None, typer.Option(help="Row to leave out, such as hand-crafted. Can be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of every recipe. Can be repeated."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of runs at the same time.", min=1)] = 1,
    log: Annotated[
        list[str] | None, typer.Option(help="Also log to tensorboard, wandb or mlflow. Can be repeated.")
    ] = None,
    form: Annotated[
        Literal["markdown", "json", "latex", "csv"], typer.Option("--format", help="Output format.")
    ] = "markdown",
) -> None:
    """Train several recipes with several seeds, probe all runs, and print a table.

    Repeat the command to continue after an interruption. Finished runs are not trained again. RECIPE@GRAPH
    trains on the same records, but reads their codes with another graph. A second table shows the cost of
    each recipe, and its difference from the first recipe.

    With --vary, all combinations of values of a single recipe are compared.

    Example: python -m marecg_research ablate c1 c2p c2 c3 --data corpus --out runs --root ptb-xl --seeds 3
    """
    request = Request(
        fractions=tuple(fraction or [1.0]),
        seeds=draws,
        folds=tuple(map(Folds.of, folds or [])),
        readout=readout,
        splits=splits,
        resamples=resamples,
        without=tuple(without or []),
    )
    wide = request.readout != "rhythm"
    request = request if wide else replace(request, without=(*request.without, WIDE))
    recipes = recipes or (["tiny"] if vary else ["c1", "c2p", "c2", "c3"])
    if vary and len(recipes) > 1:
        raise UsageError(f"--vary needs exactly one recipe, got {len(recipes)}", remedy="Give one recipe")
    probed = ablation.ablate(
        ablation.varied(by_name(recipes[0], set_ or []), vary) if vary else recipes,
        data,
        out,
        tasks=roots(task or ["ptbxl-super"], root),
        request=request,
        seeds=seeds,
        equal=[budget.value for budget in equal or [Equal.records]],
        records=record_count,
        settings=() if vary else set_ or (),
        jobs=jobs,
        loggers=log or (),
    )
    print_ablation(probed, form, wide, request.resamples)


@app.command()
def ablate_graph(
    base: Annotated[
        list[Path], typer.Argument(help="Runs that differ only in their seed, for example of small-c1.")
    ],
    data: Annotated[Path, typer.Option(help="Prepared corpus with codes for training and test.")],
    out: Annotated[Path, typer.Option(help="Folder for scores and tables. Finished parts in it are reused.")],
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of PTB-XL, whose hierarchy is used to evaluate mistakes and neighbours."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change the design, for example seeds=3, regime_seeds=3, shuffles=20, floor_seeds=3, "
            "sigmas=[0.5,1], steps=[100,200] or test_source=ptbxl. branch_steps=200 also trains the encoder, "
            'for branch_arms=["none","real"] at branch_sigma=0.5.',
        ),
    ] = None,
    any_base: Annotated[
        bool,
        typer.Option(
            "--any-base",
            help="Allow bases that were trained on other records, such as marecg-small. They may have been "
            "trained on test records.",
        ),
    ] = False,
) -> None:
    """Test the benefit of the graph: train heads on frozen encoders that differ only in the graph.

    The real graph is compared with shuffled graphs, parts of the graph, no graph, and plain labels, on the
    same draws of records. With branch_steps, the encoder is also trained further with each graph.

    Writes scores/*.parquet, scores.parquet, leaves.csv, table.md and forest.svg, and prints the table. For
    the rules of the evaluation, see the plan of the experiment.

    Example: python -m marecg_research ablate-graph base-0 base-1 --data corpus --out graph --root ptb-xl

    Example: python -m marecg_research ablate-graph marecg-small --any-base --data corpus --out graph
    """
    design = with_settings(Design, set_ or [])
    scores, leaves = experiment(base, data, out, design, root, any_base=any_base)
    frame = endpoints(scores, leaves)
    with replacing(out / "scores.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    print(write_answer(frame, {name: leaves_of(name, leaves) for name in frame["regime"].unique()}, out))
    written = [out / name for name in ("table.md", "forest.svg", "scores.parquet")]
    message(f"written: {', '.join(str(path) for path in written if path.is_file())}")


@app.command()
def perturb(
    control: Annotated[
        str,
        typer.Argument(
            help="shuffle=SEED: permute the leaves; flat: keep only the edges of families; drop=KIND,KIND: "
            "drop edges of subtypeOf, manifestationOf, sibling or ring."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Bundle to write. Its name ends in .json.")],
    ontology: Annotated[
        str | None, typer.Option(help="Folder of sources, or file. [default: the packaged graph]")
    ] = None,
) -> None:
    """Write a graph with deliberate errors, as a control for the real graph.

    The control has another IRI, hash and title, so that its models aren't mistaken for models of the real
    graph.

    Example: python -m marecg_research perturb shuffle=0 --out shuffled.json
    """
    if out.suffix != ".json":
        problem = f"--out must end in .json, got {out.suffix or 'no suffix'}"
        raise UsageError(problem, where=out, remedy="Change the file's suffix")
    written = control_of(ecg_ontology.load(ontology), control)
    print(ecg_ontology.export(written, out))
    message(f"{written.header.title}: {written.header.iri}, sha256 {written.sha256}")


@app.command()
def positional_splits(
    splits: Annotated[Path, typer.Argument(help="Folder of MERL's split tables.")],
    out: Annotated[Path, typer.Option(help="Folder for the new tables.")],
) -> None:
    """Write MERL's split tables with the labels that MERL's code reads from them.

    MERL's code reads columns by their position, although their order differs between the tables.

    Example: python -m marecg_research positional-splits splits --out positional
    """
    print(*write_positional(splits, out), sep="\n")


def print_ablation(probed: Sequence[ablation.ProbedRun], form: str, wide: bool, resamples: int) -> None:
    """Print both tables of an ablation, and remarks on stderr."""
    for probe in probed:
        for line in (f"measured: {probe.folder}, {probe.report.task}", *remarks(probe.report)):
            message(line)
    scores, standing = averaged(probed), standings(probed, wide, resamples)
    if form == "json":
        print(json.dumps({"cells": records(scores), "recipes": standing}, indent=2, allow_nan=False))
        return
    print(FORMATS[form](scores, True).rstrip())
    if form == "markdown":
        print("", *table(*heads_and_lines(standing), aligned=True), "", NOTE, sep="\n")


def message(text: str) -> None:
    """Print a line to stderr."""
    print(text, file=sys.stderr)


def main() -> None:
    """Run the command line. An `EcgError` is printed without a traceback."""
    try:
        app()
    except EcgError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
