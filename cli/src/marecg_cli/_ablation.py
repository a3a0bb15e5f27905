"""The command that trains and probes several recipes.

It imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._commands import one_of
from marecg_cli._given import PLACE, Folds
from marecg_cli._output import Readout
from marecg_cli._progress import passing, progress
from marecg_cli._training import Log, recipe_names, task_names


class Equal(StrEnum):
    """What the recipes of an ablation have alike."""

    records = "records"
    flops = "flops"


class AblationFormat(StrEnum):
    """How an ablation is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def ablate(
    data: Annotated[Path, typer.Option(**PLACE, help="The prepared corpus to train on.")],
    out: Annotated[Path, typer.Option(help="A folder for the runs; the same command goes on in it.")],
    root: Annotated[
        list[str], typer.Option(metavar="[DATA=]PATH", help="The probe's data, one for each data set.")
    ],
    recipe: Annotated[
        list[str] | None,
        typer.Option(
            "--recipe",
            "--recipes",
            metavar="NAME",
            help="Recipes by name, mine.toml, mine.py:recipe, or RECIPE@GRAPH; one or several. "
            "[default: c1 c2p c2 c3]",
            show_default=False,
            **one_of(recipe_names),
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="The probe's tasks, or all; may be repeated. [default: ptbxl-super]",
            show_default=False,
            **one_of(task_names),
        ),
    ] = None,
    fraction: Annotated[
        list[float] | None,
        typer.Option(
            help="Shares of the probe's training records; may be repeated. [default: 1]", show_default=False
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs per recipe.", min=1)] = 1,
    equal: Annotated[
        list[Equal] | None,
        typer.Option(
            help="What all have alike: the records that they see, or the FLOPs of the first recipe; "
            "name both for two columns. [default: records]",
            show_default=False,
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(
            help="How many records each sees; of equal FLOPs, how many the first does. [default: its epochs]",
            show_default=False,
            min=1,
        ),
    ] = None,
    draws: Annotated[int, typer.Option(help="The probe's draws of every share below 1.", min=1)] = 5,
    folds: Folds = None,
    resamples: Annotated[int, typer.Option(help="Of the test records, for intervals.", min=1)] = 1000,
    readout: Annotated[
        Readout, typer.Option(help="What of the encoders is compared; wide shows h_rhythm's rows as well.")
    ] = Readout.rhythm,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of every recipe.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side.", min=1)] = 1,
    log: Log = None,
    format_: Annotated[
        AblationFormat, typer.Option("--format", help="How it is printed.")
    ] = AblationFormat.text,
) -> None:
    """Train several recipes with several seeds, probe them all, and print one table.

    The same command goes on after an interruption; finished runs are not trained again. RECIPE@GRAPH trains
    on the same records with their codes read by another graph, such as ecgonto perturb writes. What each
    recipe took, and where it differs from the first, stands in a second table.

    Example: marecg ablate --recipe c1 c2p c2 c3 --data corpus --out ablation --root ptb-xl --seeds 3
    """
    from marecg.evaluate.ablate import ablate, no_step_progress
    from marecg.evaluate.methods.method import no_progress
    from marecg.evaluate.request import Request
    from marecg.evaluate.scores.summary import WIDE
    from marecg.evaluate.tasks.registry import roots
    from marecg_cli._ablation_text import print_ablation

    names = [*(recipe or []), *(more or [])] or ["c1", "c2p", "c2", "c3"]
    wide = readout is Readout.wide
    request = replace(
        Request.named(
            tuple(fraction or (1.0,)), draws, readout=readout.value, folds=folds or (), resamples=resamples
        ),
        without=() if wide else (WIDE,),
    )
    probed = ablate(
        names,
        data,
        out,
        tasks=roots(task or ["ptbxl-super"], root),
        request=request,
        seeds=seeds,
        equal=[each.value for each in equal or [Equal.records]],
        records=records,
        settings=set_ or [],
        jobs=jobs,
        step_progress=progress if jobs == 1 else no_step_progress,
        progress=passing if jobs == 1 else no_progress,
        loggers=[each.value for each in log or []],
    )
    print_ablation(probed, seeds, format_.value, wide, resamples)


COMMANDS: tuple[Callable[..., None], ...] = (ablate,)
