"""The command that measures what the project states about its speed."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._output import message, result, result_json


class BenchFormat(StrEnum):
    """How the table is printed."""

    text = "text"
    json = "json"
    markdown = "markdown"


def bench(
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

    from ecg_ontology.files import replacing
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


COMMANDS: tuple[Callable[..., None], ...] = (bench,)
