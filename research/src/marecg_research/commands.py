"""Commands that compare recipes, and graphs."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ecg_base import UsageError
from marecg_cli._options import LOCAL, ROOT, Data, Log, Tasks, by_group, one_of, recipe_names, set_option
from marecg_cli._output import message, result

if TYPE_CHECKING:
    from marecg_research.ablate import ProbedRun


class Equal(StrEnum):
    """Common budget of an ablation's recipes."""

    records = "records"
    flops = "flops"


def ablate(
    data: Data,
    out: Annotated[Path, typer.Option(help="A folder for the runs; the same command goes on in it.")],
    root: Annotated[list[str], typer.Option(**ROOT)],
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECIPE]...",
            help="Recipes by name, mine.toml, mine.py:recipe, or RECIPE@GRAPH. [default: c1 c2p c2 c3]",
            **one_of(recipe_names),
        ),
    ] = None,
    task: Tasks = None,
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
    records: Annotated[
        int | None,
        typer.Option(
            help="How many records each sees; of equal FLOPs, how many the first does. [default: its epochs]",
            min=1,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        set_option(
            "Change a value of every recipe, or of the probe: probe.fractions=0.1,1, probe.seeds=5 for "
            "draws, probe.folds=1-5,6,7-8, probe.readout=wide, probe.resamples=1000."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side.", min=1)] = 1,
    log: Log = None,
    form: Annotated[
        Literal["text", "json", "markdown", "latex", "csv"],
        typer.Option("--format", help="How it is printed."),
    ] = "text",
) -> None:
    """Train several recipes with several seeds, probe them all, and print one table.

    The same command goes on after an interruption; finished runs are not trained again. RECIPE@GRAPH trains
    on the same records with their codes read by another graph, such as ecgonto perturb writes. What each
    recipe took, and where it differs from the first, stands in a second table.

    With --vary the recipes are one recipe with every combination of some values.

    Example: marecg ablate c1 c2p c2 c3 --data corpus --out runs/ablation --root ptb-xl --seeds 3
    """
    from marecg.evaluate.request import Request
    from marecg.evaluate.scores.summary import WIDE
    from marecg.evaluate.tasks.registry import roots
    from marecg.recipes import by_name
    from marecg_cli._settings import Ablation, read
    from marecg_research.ablate import ablate, varied

    of_probe, changes = by_group("probe.", set_)
    request = Request(**{"fractions": (1.0,), **read(Ablation, of_probe, "probe.").given()})
    wide = request.readout != "rhythm"
    request = request if wide else replace(request, without=(*request.without, WIDE))
    recipes = recipes or (["tiny"] if vary else ["c1", "c2p", "c2", "c3"])
    if vary and len(recipes) > 1:
        raise UsageError("--vary takes one recipe", remedy="Leave the others out")
    probed = ablate(
        varied(by_name(recipes[0], changes), vary) if vary else recipes,
        data,
        out,
        tasks=roots(task or ["ptbxl-super"], root),
        request=request,
        seeds=seeds,
        equal=[kind.value for kind in equal or [Equal.records]],
        records=records,
        settings=() if vary else changes,
        jobs=jobs,
        loggers=log or (),
    )
    print_ablation(probed, seeds, form, wide, request.resamples)


def ablate_graph(
    base: Annotated[
        list[Path], typer.Argument(help="Runs that differ in their seed alone, such as of small-c1.")
    ],
    data: Annotated[Path, typer.Option(**LOCAL, help="The prepared corpus whose codes teach and test.")],
    out: Annotated[
        Path, typer.Option(help="A folder for scores and answer; the same command goes on in it.")
    ],
    root: Annotated[
        Path | None, typer.Option(help="PTB-XL, whose own hierarchy judges mistakes and neighbours.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        set_option(
            "Change the design: seeds=3 and regime_seeds=3 of heads per base, shuffles=20, floor_seeds=3 for "
            "160 of them, sigmas=[0.5,1], steps=[100,200], test_source=ptbxl; branch_steps=200 trains the "
            'encoder, too, for branch_arms=["none","real"] at branch_sigma=0.5.'
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
    docs/graph/plan.md says how it is judged.

    Example: marecg ablate-graph base-0 base-1 base-2 --data corpus --out graph --root ptb-xl

    Example: marecg ablate-graph marecg-small --any-base --data corpus --out graph --set regime_seeds=1
    """
    from ecg_base import replacing
    from marecg.recipes.overrides import with_settings
    from marecg_research.graph.endpoints import endpoints, leaves_of
    from marecg_research.graph.experiment import experiment
    from marecg_research.graph.records import Design
    from marecg_research.graph.verdict import write_answer

    design = with_settings(Design, set_ or [])
    scores, leaves = experiment(base, data, out, design, root, any_base=any_base)
    frame = endpoints(scores, leaves)
    with replacing(out / "scores.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    result(write_answer(frame, {name: leaves_of(name, leaves) for name in frame["regime"].unique()}, out))
    written = [out / name for name in ("table.md", "forest.svg", "scores.parquet")]
    message(f"written: {', '.join(str(path) for path in written if path.is_file())}")


def print_ablation(probed: "Sequence[ProbedRun]", seeds: int, form: str, wide: bool, resamples: int) -> None:
    """Print an ablation: remarks on stderr, and both tables in the requested form."""
    from marecg.base.markdown import table
    from marecg.evaluate.scores.results import remarks
    from marecg.evaluate.table_print import FORMATS, records
    from marecg_cli._output import result_json
    from marecg_cli._scores_text import plain_text, rich_table, scores_text
    from marecg_research.leaderboard import NOTE, averaged, heads_and_lines, standings

    for probe in probed:
        for line in (f"measured: {probe.folder}, {probe.report.task}", *remarks(probe.report)):
            message(line)
    scores, standing = averaged(probed), standings(probed, wide, resamples)
    if form == "json":
        result_json({"cells": records(scores), "recipes": standing})
    elif form == "text":
        over = f", mean ± standard deviation of {seeds} runs" if seeds > 1 else " [95 % interval]"
        result(scores_text(f"Macro AUC on test{over}, protocol {probed[0].report.protocol}", scores))
        result(plain_text([rich_table(*heads_and_lines(standing)), NOTE]))
    else:
        result(FORMATS[form](scores, False).rstrip())
        if form == "markdown":
            result("\n".join([*table(*heads_and_lines(standing), aligned=True), "", NOTE]))
