"""Commands that measure what the project states about its speed, and its R-peaks.

`marecg bench` alone, or with the names of rows, measures those; `gpu` and `rpeaks` are commands of their own.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from marecg_cli._commands import add, application, one_of
from marecg_cli._output import Format, message, result, result_json


class BenchFormat(StrEnum):
    """How the table is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


def _recipes() -> tuple[str, ...]:
    from marecg.bench.gpu import RECIPES

    return tuple(RECIPES)


def _variants() -> tuple[str, ...]:
    from marecg.bench.gpu import VARIANTS

    return tuple(VARIANTS)


def rows_(
    rows: Annotated[
        list[str] | None, typer.Argument(metavar="[ROW]…", help="Rows by name; all without.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repeats and smaller sizes: a glance, no proof.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="Name the rows and measure none.")] = False,
    format_: Annotated[BenchFormat, typer.Option("--format", help="How to print it.")] = BenchFormat.text,
    out: Annotated[Path | None, typer.Option(help="Also write the JSON into a file.")] = None,
) -> None:
    """Measure speed as ratios, each against a named baseline in the same run.

    Run it on a machine that does nothing else; docs/performance.md explains every row.

    Example: marecg bench encoder-forward loader --format json
    """
    import json

    from ecg_ontology import replacing
    from marecg.bench.ratio import FULL, QUICK
    from marecg.bench.table import as_json, as_markdown, as_text, choose, machine, measure

    chosen, effort = choose(rows or []), QUICK if quick else FULL
    if list_:
        for row in chosen:
            result(f"{row.name:<22}{row.reach!s:<8} {row.what} : {row.against}")
        return
    message(", ".join(f"{name} {value}" for name, value in machine().items()))
    measured = []
    for each in measure(chosen, effort):
        measured.append(each)
        (result if format_ is BenchFormat.text else message)(as_text(each))
    if format_ is BenchFormat.json:
        result_json(as_json(measured, effort))
    elif format_ is BenchFormat.markdown:
        result(as_markdown(measured))
    if out is not None:
        with replacing(out) as temporary:
            temporary.write_text(json.dumps(as_json(measured, effort), indent=2), encoding="utf-8")


def gpu(
    device: Annotated[str, typer.Option(help="cuda, or cpu, which only shows that it runs.")] = "cuda",
    tiny: Annotated[bool, typer.Option("--tiny", help="The tiny recipes and a small product.")] = False,
    batch_size: Annotated[
        int, typer.Option("--batch-size", "--batch", help="Records per micro-batch.", min=1)
    ] = 8,
    steps: Annotated[int, typer.Option(help="Steps that are timed.", min=1)] = 20,
    recipe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="c1 or c3; may be repeated. [default: both]",
            show_default=False,
            **one_of(_recipes),
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="eager, compile, compile-autotune, checkpoint, compile+checkpoint, adamw-loop, "
            "attention-efficient, attention-cudnn or compile+attention-math; may be repeated. [default: all]",
            show_default=False,
            **one_of(_variants),
        ),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.text,
    out: Annotated[
        Path | None, typer.Option(help="Also write the JSON into a file, anew after each measurement.")
    ] = None,
) -> None:
    """Measure how much of a GPU's matrix product a pretraining step reaches.

    Example: marecg bench gpu --recipe c3 --variant eager --variant compile --out gpu.json
    """
    import json

    from ecg_ontology import replacing
    from marecg.bench.gpu import RECIPES, VARIANTS, device_named, pretraining

    def keep(told: dict[str, Any]) -> None:
        if out is not None:
            with replacing(out) as temporary:
                temporary.write_text(json.dumps(told, indent=2), encoding="utf-8")

    say = result if format_ is Format.text else message
    chosen = (recipe or RECIPES, variant or tuple(VARIANTS))
    told = pretraining(device_named(device), *chosen, batch_size, steps, say, keep, tiny=tiny)
    if format_ is Format.json:
        result_json(told)


def rpeaks(
    records: Annotated[int, typer.Option(help="Synthetic records.", min=1)] = 400,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.text,
) -> None:
    """Score the R-peak detectors on synthetic records whose every beat is known.

    Example: marecg bench rpeaks --records 200
    """
    from dataclasses import asdict

    from marecg.bench.rpeaks import annotated, scores, table

    if format_ is Format.json:
        result_json({name: asdict(score) for name, score in scores(annotated(records))})
        return
    for line in table(records):
        result(line)


def scale(
    folder: Annotated[Path, typer.Argument(help="A new folder; the simulated corpus stays in it.")],
    records: Annotated[int, typer.Option(help="How many.", min=1)] = 10_000_000,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.text,
) -> None:
    """Start on a corpus of millions of simulated records, and tell seconds and memory of each stage.

    Its shards are sparse files: ten million records take 3 GB of disk.

    Example: marecg bench scale /scratch/ten-million --records 10000000
    """
    from marecg.bench.scale import scale as measured

    found = measured(folder, records)
    if format_ is Format.json:
        result_json(found)
        return
    result(f"{found.pop('records'):,} records")
    for start, stages in found.items():
        for stage, told in stages.items():
            memory = f"{told['resident_gb']:5.2f} GB, at most {told['peak_gb']:.2f}"
            spent = f"{told['seconds']:8.3f} s, {told['cpu_seconds']:8.3f} s of CPU"
            result(f"{start:<12}{stage:<24}{spent}, {memory}")


app = application(
    "Measure speed as ratios against named baselines, pretraining on a GPU, a start on millions of records, "
    "and R-peak detectors.\n\n"
    "Example: marecg bench encoder-forward loader --format json",
    {"measure": ("rows", "gpu", "scale", "rpeaks")},
    default="rows",
)
add(app, (rows_, gpu, scale, rpeaks))
