"""Commands that train and show what will be trained.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ecg_ontology import UsageError
from marecg_cli._commands import one_of, the_one
from marecg_cli._output import EXIT_FINDINGS, message, result, result_json
from marecg_cli._progress import passing, progress


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


class RecipeFormat(StrEnum):
    """How recipes are printed."""

    text = "text"
    json = "json"
    toml = "toml"


class Tracker(StrEnum):
    """Where a run can be followed; `marecg.train.trackers.NEEDS` without torch."""

    tensorboard = "tensorboard"
    wandb = "wandb"
    mlflow = "mlflow"


Log = Annotated[
    list[Tracker] | None,
    typer.Option(
        help="Follow it there as well, in the run folder; may be repeated. Needs the extra of that name. "
        "Only WANDB_MODE=online and MLFLOW_TRACKING_URI make it ask for a network."
    ),
]

TEXT_TOLERANCE = 1e-4
"""How far a fresh embedding may be from the shipped one: another processor rounds differently."""


def recipe_names() -> list[str]:
    from marecg.recipes import RECIPES

    return list(RECIPES)


def task_names() -> list[str]:
    from marecg.evaluate.tasks.registry import TASKS

    return list(TASKS)


def train(
    data: Annotated[Path, typer.Option(help="A corpus that `marecg prepare` wrote.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    recipe: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A recipe by name, as `marecg recipes` shows them, mine.toml or mine.py:recipe.",
            **one_of(recipe_names),
        ),
    ] = "tiny",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one value of the recipe; may be repeated."),
    ] = None,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh",
            help="Refuse a folder without a run, or with one. By default a run in it is gone on with.",
            show_default=False,
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Pretrain an encoder; the same command goes on after an interruption.

    Example: marecg train --recipe tiny --data corpus --out run --set train.max_steps=200
    """
    from marecg.overrides import override
    from marecg.recipes import by_name
    from marecg.train.run import train

    config = override(by_name(recipe), set_ or [])
    with progress("steps") as tell:
        run = train(config, data, out, resume=resume, watch=tell, loggers=[each.value for each in log or []])
    message(f"{run.steps} steps, {run.skipped_steps} skipped for gradients that were not finite")
    result(str(run.folder / "model"))


def recipes(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="One as a whole; or mine.toml.", **one_of(recipe_names)),
    ] = None,
    format_: Annotated[
        RecipeFormat, typer.Option("--format", help="How to print it; toml prints one, as train reads it.")
    ] = RecipeFormat.text,
    toml: Annotated[bool, typer.Option("--toml", help="The same as --format toml.")] = False,
    cost: Annotated[
        int | None,
        typer.Option(metavar="RECORDS", help="Show what training each on so many records takes.", min=1),
    ] = None,
    speed: Annotated[float, typer.Option(help="TFLOP/s that are reached, for --cost.", min=0.001)] = 300.0,
) -> None:
    """Show what makes each recipe its own, or one of them as a whole, each value with its source.

    Example: marecg recipes c3

    Example: marecg recipes c3 --toml

    Example: marecg recipes --cost 40721 --speed 300
    """
    from marecg.config import sources
    from marecg.objectives.registry import installed
    from marecg.recipe_toml import written
    from marecg.recipes import COMPARISON, RECIPES, Config, by_name
    from marecg_cli._recipes_text import print_costs, print_recipe, print_recipes

    if cost is not None:
        chosen = {recipe: by_name(recipe)} if recipe else {name: make() for name, make in RECIPES.items()}
        print_costs(chosen, cost, speed)
        return
    if toml or format_ is RecipeFormat.toml:
        if recipe is None:
            raise UsageError("TOML is of one recipe", remedy="Name it: marecg recipes c3 --toml")
        result(written(by_name(recipe)).rstrip())
        return
    chosen = {recipe: by_name(recipe)} if recipe else {name: make() for name, make in RECIPES.items()}
    known = dict(sources(Config))
    for prefix, kind in installed().items():
        known |= dict(sources(kind, f"{prefix}."))
    built = {name: config.model_dump(mode="json") for name, config in chosen.items()}
    if format_ is RecipeFormat.json:
        result_json({"recipes": built, "sources": known})
        return
    base = next(iter(RECIPES))
    if recipe:
        whole = by_name(base).model_dump(mode="json")
        print_recipe(built[recipe], base, whole, known)
        message("The sources are those of the full-size values; what differs in tiny… fits two CPU cores.")
        return
    others = [name for name in COMPARISON if name.startswith(("tiny-", "small-"))]
    shown = [name for name in RECIPES if name not in others]
    print_recipes({name: built[name] for name in shown}, {name: _about(RECIPES[name]) for name in shown})
    message(f"Other methods and controls have smaller sizes too: {', '.join(others)}.")
    message("marecg recipes NAME shows one as a whole, each value with its source.")


def demo(
    folder: Annotated[Path | None, typer.Argument(hidden=True)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Where everything goes. [default: marecg-demo]", show_default=False),
    ] = None,
    records: Annotated[int, typer.Option(help="Synthetic records to train on.", min=200)] = 480,
    steps: Annotated[int, typer.Option(help="Optimiser steps.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="The same seed gives the same demo.", min=0)] = 0,
) -> None:
    """Go the whole path on synthetic ECGs: synthesise, prepare, train, probe, report.

    Example: marecg demo
    """
    from marecg.demo import demo
    from marecg_cli._probe_text import probe_text

    done = demo(the_one(out, folder, "--out", Path("marecg-demo")), records, steps, seed)
    result(probe_text(done.probe))
    result(f"report:   {done.page}")
    result(f"pictures: {done.page.parent / 'pictures'}")


def ablate(
    data: Annotated[Path, typer.Option(help="The prepared corpus to train on.")],
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
    folds: Annotated[
        str | None,
        typer.Option(
            metavar="TRAIN,VAL,TEST",
            help="Folds of the task's data, such as 1-5,6,7-8. [default: as published]",
            show_default=False,
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(help="Of the test records, for intervals.", min=1)] = 1000,
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
    from marecg.evaluate.ablate import ablate, unseen
    from marecg.evaluate.averages import averaged, standings
    from marecg.evaluate.methods.method import unwatched
    from marecg.evaluate.request import Request
    from marecg.evaluate.scores.summary import WIDE
    from marecg.evaluate.standings_print import markdown
    from marecg.evaluate.table_print import FORMATS
    from marecg.evaluate.tasks.registry import roots
    from marecg_cli._ablation_text import ablation_json, standings_text
    from marecg_cli._probe_text import remarks, rows_text

    names = [*(recipe or []), *(more or [])] or ["c1", "c2p", "c2", "c3"]
    request = replace(
        Request.named(tuple(fraction or (1.0,)), draws, folds=folds, resamples=resamples), without=(WIDE,)
    )
    found = ablate(
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
        watch=progress if jobs == 1 else unseen,
        passing=passing if jobs == 1 else unwatched,
        loggers=[each.value for each in log or []],
    )
    reports = [report for _, _, report in found]
    for _, folder, report in found:
        for line in (f"measured: {folder}, {report.task}", *remarks(report)):
            message(line)
    rows = averaged(found)
    standing = standings(found, resamples=resamples)
    if format_ is AblationFormat.json:
        result_json(ablation_json(rows, standing))
    elif format_ is AblationFormat.text:
        over = f", mean ± standard deviation of {seeds} runs" if seeds > 1 else " [95 % interval]"
        head = f"Macro AUC on test{over}, protocol {reports[0].protocol}"
        result(rows_text(head, rows, reports))
        result(standings_text(standing))
    else:
        result(FORMATS[format_.value](rows, False).rstrip())
        if format_ is AblationFormat.markdown:
            result(markdown(standing).rstrip())


def texts(
    ontology: Annotated[
        str | None,
        typer.Option(
            help="A prepared corpus, or another graph as prepare takes it. [default: the packaged graph]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where they go. [default: into the corpus, where training looks]", show_default=False
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the shipped ones; write nothing.")
    ] = False,
) -> None:
    """Embed the concepts' text variants with the sentence encoder, as MPCT uses them.

    Example: marecg texts --ontology corpus
    """
    import ecg_ontology
    from marecg.objectives.concept_text import SHIPPED, write
    from marecg.objectives.concept_text import check as difference_from_shipped

    if ontology is not None or out is not None:
        if check:
            raise UsageError("--check compares the shipped ones only", remedy="Leave the others away")
        result(str(_write_texts(None if ontology is None else Path(ontology), out)))
        return
    packaged = ecg_ontology.load()
    if not check:
        write(packaged)
        result(str(SHIPPED))
        return
    difference = difference_from_shipped(packaged)
    result(f"largest difference from the shipped embeddings: {difference:.1e}")
    if difference > TEXT_TOLERANCE:
        raise typer.Exit(EXIT_FINDINGS)


def _write_texts(source: Path | None, out: Path | None) -> Path:
    """Embed the texts of a corpus' graph, or of a graph's own files."""
    import ecg_ontology
    from marecg.corpus.prepared import Corpus
    from marecg.objectives.concept_text import TEXTS, write

    if source is not None and (source / "corpus.json").is_file():
        graph, place = Corpus.open(source).ontology(), out or source / TEXTS
    elif out is not None:
        graph, place = ecg_ontology.load(source), out
    else:
        raise UsageError("is no prepared corpus", where=source, remedy="Name one, or a file as --out")
    write(graph, place)
    return place


def _about(make: Callable[..., object]) -> str:
    """The first line of what builds a recipe; of one at another size, which one that is."""
    from marecg.objectives.comparators import COMPARATORS

    if isinstance(make, partial) and make.args[-1] in COMPARATORS:
        return (COMPARATORS[make.args[-1]].__doc__ or "").partition("\n")[0]
    if isinstance(make, partial) and make.func.__name__.startswith("_"):
        return (make.func.__doc__ or "").partition("\n")[0]
    if isinstance(make, partial):
        return f"{make.args[0].__name__} at a size for two CPU cores."
    return (make.__doc__ or "").partition("\n")[0]


COMMANDS: tuple[Callable[..., None], ...] = (train, recipes, ablate, demo, texts)
