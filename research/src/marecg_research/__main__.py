"""Command line of the experiments: `python -m marecg_research COMMAND`."""

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
    """Common budget of an ablation's recipes."""

    records = "records"
    flops = "flops"


@app.command()
def ablate(
    data: Annotated[Path, typer.Option(help="A corpus that `marecg prepare` wrote.")],
    out: Annotated[Path, typer.Option(help="A folder for the runs; the same command goes on in it.")],
    root: Annotated[
        list[str],
        typer.Option(
            metavar="[DATA=]PATH",
            help="The task's data. Of tasks on several data sets one each: --root ptbxl=PATH.",
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
        typer.Option(help="A task of `marecg probe`; may be repeated. [default: ptbxl-super]"),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUES",
            help="A value of the one recipe and what it is set to, in place of several recipes: "
            "gscl.sigma=0.5,1,2; may be repeated.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs per recipe or combination.", min=1)] = 1,
    equal: Annotated[
        list[Equal] | None,
        typer.Option(
            help="What all have alike: the records that they see, or the FLOPs of the first recipe; "
            "name both for two columns. [default: records]"
        ),
    ] = None,
    record_count: Annotated[
        int | None,
        typer.Option(
            "--records",
            help="How many records each sees; of equal FLOPs, how many the first does. [default: its epochs]",
            min=1,
        ),
    ] = None,
    fraction: Annotated[
        list[float] | None, typer.Option(help="A share of the training records. [default: 1]")
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws for every share below 1.", min=1)] = 5,
    folds: Annotated[
        list[str] | None,
        typer.Option(help="What trains, selects and tests: 1-5,6,7-8; may be repeated for rotations."),
    ] = None,
    readout: Annotated[
        Literal["rhythm", "wide", "beats", "full", "concepts"], typer.Option(help="What is compared.")
    ] = "rhythm",
    splits: Annotated[Path | None, typer.Option(help="Folder of MERL's split tables.")] = None,
    resamples: Annotated[
        int, typer.Option(help="Draws of the test records, for the intervals.", min=1)
    ] = 1000,
    without: Annotated[
        list[str] | None, typer.Option(help="A row to leave out, such as hand-crafted; may be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value of every recipe; may be repeated."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side.", min=1)] = 1,
    log: Annotated[
        list[str] | None, typer.Option(help="Follow the runs in tensorboard, wandb or mlflow as well.")
    ] = None,
    form: Annotated[
        Literal["markdown", "json", "latex", "csv"], typer.Option("--format", help="How it is printed.")
    ] = "markdown",
) -> None:
    """Train several recipes with several seeds, probe them all, and print one table.

    The same command goes on after an interruption; finished runs are not trained again. RECIPE@GRAPH trains
    on the same records with their codes read by another graph. What each recipe took, and how it differs
    from the first, is in a second table.

    With --vary the recipes are one recipe with every combination of some values.

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
        raise UsageError("--vary takes one recipe", remedy="Leave the others out")
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
        list[Path], typer.Argument(help="Runs that differ in their seed alone, such as of small-c1.")
    ],
    data: Annotated[Path, typer.Option(help="The prepared corpus whose codes teach and test.")],
    out: Annotated[
        Path, typer.Option(help="A folder for scores and answer; the same command goes on in it.")
    ],
    root: Annotated[
        Path | None, typer.Option(help="PTB-XL, whose own hierarchy judges mistakes and neighbours.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change the design, such as seeds=3 and regime_seeds=3 of heads per base, shuffles=20, "
            "floor_seeds=3, sigmas=[0.5,1], steps=[100,200] or test_source=ptbxl. branch_steps=200 trains "
            'the encoder as well, for branch_arms=["none","real"] at branch_sigma=0.5.',
        ),
    ] = None,
    any_base: Annotated[
        bool,
        typer.Option(
            "--any-base",
            help="Take bases trained on other records, or by name, such as marecg-small: what they know of "
            "the test records is then another matter.",
        ),
    ] = False,
) -> None:
    """Test the benefit of the graph: train heads on frozen bases that differ in the graph alone.

    The real graph stands beside graphs of the same shape over other concepts, parts of itself, none, and
    plain labels, on equal draws. With branch_steps the encoder itself goes on from each base under each arm.
    Writes scores/*.parquet, scores.parquet, leaves.csv, table.md and forest.svg, and prints the table.
    The plan of the experiment says how it is judged.

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
            help="shuffle=SEED: the leaves exchange their places in the graph; flat: every leaf keeps its "
            "family alone; drop=KIND,KIND: without edges of subtypeOf, manifestationOf, sibling or ring."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The bundle to write; its name ends in .json.")],
    ontology: Annotated[
        str | None, typer.Option(help="A folder of sources or a file. [default: the packaged graph]")
    ] = None,
) -> None:
    """Write a graph with deliberate errors, a control for the real one.

    It has an IRI, a sha256 and a title of its own, so no model of it is taken for one of the real graph.

    Example: python -m marecg_research perturb shuffle=0 --out shuffled.json
    """
    if out.suffix != ".json":
        raise UsageError("isn't a name of a bundle", where=out, remedy="Let it end in .json")
    made = control_of(ecg_ontology.load(ontology), control)
    print(ecg_ontology.export(made, out))
    message(f"{made.header.title}: {made.header.iri}, sha256 {made.sha256}")


@app.command()
def positional_splits(
    splits: Annotated[Path, typer.Argument(help="The folder of MERL's split tables.")],
    out: Annotated[Path, typer.Option(help="A folder for the tables.")],
) -> None:
    """Write MERL's split tables with the labels that its code reads from them, by position.

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
    """Run the command line; an error of the input ends in one line."""
    try:
        app()
    except EcgError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
