"""The command that varies values of a recipe.

It imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from marecg_cli._commands import one_of
from marecg_cli._output import Format, message
from marecg_cli._progress import passing, progress
from marecg_cli._training import Log, recipe_names, task_names

if TYPE_CHECKING:
    from marecg.evaluate.ablate import ProbedRun


def sweep(
    data: Annotated[Path, typer.Option(help="The prepared corpus to train on.")],
    out: Annotated[Path, typer.Option(help="A folder for the runs; the same command goes on in it.")],
    root: Annotated[Path, typer.Option(help="The probe's data.")],
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUES",
            help="A value of the recipe and what it is set to: gscl.sigma=0.5,1,2; may be repeated. With "
            "--search a range, too: train.lr=1e-4..1e-2:log.",
        ),
    ],
    recipe: Annotated[
        str,
        typer.Option(metavar="NAME", help="By name, mine.toml or mine.py:recipe.", **one_of(recipe_names)),
    ] = "tiny",
    task: Annotated[str, typer.Option(help="The probe's task.", **one_of(task_names))] = "ptbxl-super",
    fraction: Annotated[float, typer.Option(help="The share of the probe's training records.")] = 1.0,
    seeds: Annotated[int, typer.Option(help="Runs per combination.", min=1)] = 1,
    search: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Let Optuna choose N combinations by val, instead of all; needs the extra search.",
            min=1,
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value of every run.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs side by side; in a search, seeds.", min=1)] = 1,
    log: Log = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.text,
) -> None:
    """Vary values of a recipe: train and probe every combination, or search among them, and print one table.

    Each run has a folder; the same command goes on after an interruption, and `marecg table` shows them too.

    Example: marecg sweep --vary gscl.sigma=0.5,1,2 --seeds 3 --data corpus --out sweep --root ptb-xl
    """
    from marecg.evaluate.ablate import ablate, no_step_progress
    from marecg.evaluate.methods.method import no_progress
    from marecg.evaluate.request import Request
    from marecg.evaluate.scores.metrics import RESAMPLES
    from marecg.evaluate.scores.summary import WIDE
    from marecg.evaluate.sweep import axis, grid
    from marecg.evaluate.sweep import search as searched
    from marecg.recipes import Config, by_name
    from marecg.recipes.overrides import override
    from marecg_cli._ablation_text import print_ablation

    request = replace(Request((fraction,)), without=(WIDE,))

    def measured(configs: list[Config]) -> "list[ProbedRun]":
        return ablate(
            configs,
            data,
            out,
            tasks={task: root},
            request=request,
            seeds=seeds,
            jobs=jobs,
            step_progress=progress if jobs == 1 else no_step_progress,
            progress=passing if jobs == 1 else no_progress,
            loggers=[each.value for each in log or []],
        )

    config, axes = override(by_name(recipe), set_ or []), [axis(each) for each in vary]
    if search is None:
        probed = measured(grid(config, axes))
    else:
        probed = searched(config, axes, search, out, lambda one: measured([one]))
        message(f"best on val: {probed[0][0]}")
    print_ablation(probed, seeds, format_.value, False, RESAMPLES)


COMMANDS: tuple[Callable[..., None], ...] = (sweep,)
