"""Commands that use and judge a trained encoder.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._output import Format, message, result, result_json


class TableFormat(StrEnum):
    """How a table is printed."""

    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def probe(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder of a trained encoder.")],
    more: Annotated[list[float] | None, typer.Argument(hidden=True, metavar="SHARE")] = None,
    *,
    task: Annotated[
        str,
        typer.Option(
            help="ptbxl-super, -sub, -form or -rhythm, cpsc2018, or corpus: the leaves of a prepared corpus."
        ),
    ] = "ptbxl-super",
    root: Annotated[Path, typer.Option(help="The task's data: PTB-XL, cpsc_2018, or a prepared corpus.")],
    fraction: Annotated[
        list[float] | None,
        typer.Option(
            help="Shares of the training records, one or several. [default: 0.01 0.1 1]", show_default=False
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Draws for every share below 1.")] = 5,
    protocol: Annotated[str, typer.Option(help="strict, merl or merl-positional.")] = "strict",
    splits: Annotated[
        Path | None, typer.Option(help="MERL's split tables, to take labels and split from.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Another model's features: an .npz with ids and features."),
    ] = None,
    baseline: Annotated[
        list[str] | None, typer.Option(help="A further baseline, which takes longer: minirocket, resnet1d.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How the report is printed.")] = Format.text,
) -> None:
    """Judge a frozen encoder by a linear probe, beside a random encoder, hand-crafted features and zero-shot.

    Example: marecg probe runs/c1 --task ptbxl-super --root data/ptb-xl --fraction 0.01 0.1 1
    """
    from rich.console import Console
    from rich.progress import track

    from marecg.evaluate.evaluation import evaluate
    from marecg_cli._probe_text import probe_text

    report = evaluate(
        run,
        task,
        root,
        fractions=tuple(fraction + (more or []) if fraction else more or (0.01, 0.1, 1.0)),
        seeds=seeds,
        protocol=protocol,
        splits=splits,
        features=_named_files(features or []),
        baselines=baseline or (),
        watch=lambda batches: track(batches, "features", console=Console(stderr=True), transient=True),
    )
    if output is Format.json:
        result_json(report.model_dump(mode="json"))
    else:
        result(probe_text(report))
    records = report.records
    if records.missing:
        message(f"listed but not on disk ({len(records.missing)}): {_named(records.missing)}")
    if records.unreadable:
        reasons = [f"{record} ({reason})" for record, reason in records.unreadable.items()]
        message(f"can't be used ({len(reasons)}): {_named(reasons)}")


def table(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN…", help="Run folders that were probed.")
    ] = None,
    output: Annotated[
        TableFormat, typer.Option("--format", help="How the table is printed.")
    ] = TableFormat.markdown,
    protocol: Annotated[str, typer.Option(help="Whose reports are read.")] = "strict",
    published: Annotated[
        bool, typer.Option(help="Whether the paper's rows stand above the measured ones.")
    ] = True,
) -> None:
    """Print the paper's table of linear probes with measured rows under the published ones.

    Example: marecg table runs/c1 runs/c3 --format latex
    """
    from marecg.evaluate import table as tables

    rows = tables.published() if published else []
    rows += [row for run in runs or [] for row in tables.measured(run, protocol)]
    result(tables.FORMATS[output](rows).rstrip())


def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that was probed.")],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another one.")],
    task: Annotated[str, typer.Option(help="The task that both were probed on.")] = "ptbxl-super",
    protocol: Annotated[str, typer.Option(help="The protocol of both.")] = "strict",
    output: Annotated[
        Format, typer.Option("--format", help="How the differences are printed.")
    ] = Format.text,
) -> None:
    """Compare two runs' encoders on the same test records: macro AUC of RUN minus that of OTHER.

    Example: marecg compare runs/c3 runs/c1 --task ptbxl-rhythm
    """
    from marecg.evaluate import predictions

    name = f"probe/{task}-{protocol}.npz"
    found = predictions.compare(predictions.load(run / name), predictions.load(other / name))
    if output is Format.json:
        result_json({f"{fraction:g}": difference.model_dump() for fraction, difference in found.items()})
    for fraction, difference in found.items() if output is Format.text else ():
        low, mean, high = (100 * value for value in (difference.low, difference.mean, difference.high))
        result(f"{100 * fraction:g} % of train: {mean:+.2f} [{low:+.2f}, {high:+.2f}]")


def _named_files(options: list[str]) -> dict[str, Path]:
    """`NAME=FILE`, or `FILE`, which is named after itself."""
    pairs = [option.rpartition("=") for option in options]
    return {name or Path(file).stem: Path(file) for name, _, file in pairs}


def _named(names: list[str] | tuple[str, ...], at_most: int = 5) -> str:
    rest = ", … (all in --format json)" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + rest


COMMANDS: tuple[Callable[..., None], ...] = (probe, table, compare)
