"""Commands that train, and show how it is done."""

from pathlib import Path
from typing import Annotated

import typer

from ecg_ontology import UsageError
from marecg_cli._options import Data, Log, one_of, recipe_names, set_option
from marecg_cli._output import message, result


def train(
    data: Data,
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A recipe by name, as `marecg recipes` shows them, mine.toml or mine.py:recipe. "
            "[default: tiny, or that of the weights given with --from]",
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
        ),
    ] = None,
    set_: Annotated[list[str] | None, set_option("Change one value of the recipe; may be repeated.")] = None,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--fresh",
            help="Refuse a folder without a run, or with one. By default a run in it is resumed.",
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Pretrain an encoder; the same command goes on after an interruption.

    Example: marecg train --recipe tiny --data corpus --out runs/c3 --set train.max_steps=200

    Example: marecg train --from marecg-small --data corpus --out runs/c3 --set train.lr=5e-4
    """
    from marecg.recipes import by_name
    from marecg.train.run import train
    from marecg.train.warm_start import recipe_for

    changes = set_ or []
    config = recipe_for(from_, recipe, changes) if from_ else by_name(recipe or "tiny", changes)
    run = train(config, data, out, start=from_, resume=resume, loggers=log or ())
    message(f"{run.steps} steps, {run.skipped_steps} skipped for gradients that were not finite")
    result(str(run.folder / "model"))


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
    from marecg_cli._scores_text import demo_text

    result(demo_text(demo(out, records, steps, seed)))


def texts(
    ontology: Annotated[
        str | None,
        typer.Option(
            help="A prepared corpus, or another graph as prepare takes it. [default: the packaged graph]"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where they go. [default: into the corpus, where training looks]")
    ] = None,
) -> None:
    """Embed the concepts' text variants with the sentence encoder, as MPCT uses them.

    Example: marecg texts --ontology corpus
    """
    import ecg_ontology
    from marecg.corpus.prepared import Corpus
    from marecg.objectives.concept_text import SHIPPED, TEXTS, write

    folder = None if ontology is None else Path(ontology)
    if folder is not None and (folder / "corpus.json").is_file():
        graph, place = Corpus.open(folder).ontology(), out or folder / TEXTS
    elif folder is not None and out is None:
        raise UsageError("isn't a prepared corpus", where=folder, remedy="Name one, or a file as --out")
    else:
        graph, place = ecg_ontology.load(folder), out or SHIPPED
    write(graph, place)
    result(str(place))
