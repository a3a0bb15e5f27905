"""Commands that train and show what will be trained.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ecg_ontology import UsageError
from marecg_cli._commands import one_of
from marecg_cli._given import PLACE
from marecg_cli._output import EXIT_FINDINGS, message, result, result_json
from marecg_cli._progress import progress


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
    data: Annotated[Path, typer.Option(**PLACE, help="A corpus that `marecg prepare` wrote.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A recipe by name, as `marecg recipes` shows them, mine.toml or mine.py:recipe. "
            "[default: tiny, or that of the weights given with --from]",
            show_default=False,
            **one_of(recipe_names),
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WEIGHTS",
            help="Go on from these instead of random ones: a run, a model's folder, marecg-small, or "
            "owner/name on the hub. The recipe's model is theirs.",
            show_default=False,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one value of the recipe; may be repeated."),
    ] = None,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh",
            help="Refuse a folder without a run, or with one. By default a run in it is resumed.",
            show_default=False,
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Pretrain an encoder; the same command goes on after an interruption.

    Example: marecg train --recipe tiny --data corpus --out runs/c3 --set train.max_steps=200

    Example: marecg train --from marecg-small --data corpus --out runs/c3 --set train.lr=5e-4
    """
    from marecg.recipes import by_name
    from marecg.recipes.overrides import override
    from marecg.train.run import train
    from marecg.train.warm_start import recipe_for

    changes, followers = set_ or [], [each.value for each in log or []]
    config = recipe_for(from_, recipe, changes) if from_ else override(by_name(recipe or "tiny"), changes)
    with progress("steps") as tell:
        run = train(config, data, out, start=from_, resume=resume, watch=tell, loggers=followers)
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
    cost: Annotated[
        int | None,
        typer.Option(metavar="RECORDS", help="Show what training each on so many records takes.", min=1),
    ] = None,
    speed: Annotated[float, typer.Option(help="TFLOP/s that are reached, for --cost.", min=0.001)] = 300.0,
) -> None:
    """Show what makes each recipe its own, or one of them as a whole, each value with its source.

    Example: marecg recipes c3

    Example: marecg recipes c3 --format toml

    Example: marecg recipes --cost 40721 --speed 300
    """
    from marecg.base.config import Settings, source_of, sources
    from marecg.objectives.registry import installed
    from marecg.recipes import COMPARISON, RECIPES, Config, by_name
    from marecg.recipes.toml import written
    from marecg_cli._recipes_text import print_costs, print_recipe, print_recipes

    chosen = {recipe: by_name(recipe)} if recipe else {name: make() for name, make in RECIPES.items()}
    if cost is not None:
        print_costs(chosen, cost, speed)
        return
    if format_ is RecipeFormat.toml:
        if recipe is None:
            raise UsageError("TOML is of one recipe", remedy="Name it: marecg recipes c3 --format toml")
        result(written(chosen[recipe]).rstrip())
        return
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
        groups = {name: each for name, each in dict(chosen[recipe]).items() if isinstance(each, Settings)}
        known |= {
            f"{name}.{key}": source_of(each, key) for name, each in groups.items() for key in dict(each)
        }
        print_recipe(built[recipe], base, whole, known)
        return
    others = [name for name in COMPARISON if name.startswith(("tiny-", "small-"))]
    shown = [name for name in RECIPES if name not in others]
    print_recipes({name: built[name] for name in shown}, {name: _about(RECIPES[name]) for name in shown})
    message(f"Other methods and controls have smaller sizes too: {', '.join(others)}.")
    message("marecg recipes NAME shows one as a whole, each value with its source.")


def demo(
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("marecg-demo"),
    records: Annotated[int, typer.Option(help="Synthetic records to train on.", min=200)] = 480,
    steps: Annotated[int, typer.Option(help="Optimiser steps.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="The same seed gives the same demo.", min=0)] = 0,
) -> None:
    """Go the whole path on synthetic ECGs: synthesise, prepare, train, probe, report.

    Example: marecg demo
    """
    from marecg.report.demo import demo
    from marecg_cli._demo_text import demo_text

    result(demo_text(demo(out, records, steps, seed)))


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
            raise UsageError("--check compares the shipped ones only", remedy="Leave the others out")
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
        raise UsageError("isn't a prepared corpus", where=source, remedy="Name one, or a file as --out")
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


COMMANDS: tuple[Callable[..., None], ...] = (train, recipes, demo, texts)
