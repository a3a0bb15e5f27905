"""`marecg data`: download datasets by name; and export models for other tools."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from marecg_cli._commands import SETTINGS
from marecg_cli._options import As, one_of
from marecg_cli._output import message, result, result_json

SUMMARY = "The datasets that are read by name: list them, get them."
data = typer.Typer(help=f"{SUMMARY}\n\nExample: marecg data list", **SETTINGS)


def _choice() -> list[str]:
    from ecg_records.readers.catalogue import catalogue

    return list(catalogue())


@data.command("list", rich_help_panel="Datasets")
def list_(
    root: Annotated[Path | None, typer.Option(help="Count what this folder holds of each.")] = None,
    form: As = "text",
) -> None:
    """List every dataset by name, with its licence, size and address.

    Example: marecg data list --root /data
    """
    from ecg_records.readers.catalogue import catalogue
    from ecg_records.readers.discovery import records_on_disk

    counts = records_on_disk(root) if root else {}
    if form == "json":
        rows = [dataset.model_dump(mode="json") for dataset in catalogue().values()]
        result_json([row | ({"on_disk": counts[row["name"]]} if root else {}) for row in rows])
        return
    for known in catalogue().values():
        size = f", {known.size:g} GB" if known.size else ""
        here = f", {counts[known.name]:,} of them here" if root else ""
        codes = known.codes or "no codes: for pretraining only"
        result(f"{known.name}: {known.title}")
        result(f"    {known.records:,} records{size}{here}; {codes}; {known.licence or 'no licence stated'}")
        result(f"    {known.home}")


@data.command(rich_help_panel="Datasets")
def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A dataset by its name; `marecg data list` shows them.", **one_of(_choice)
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The folder for datasets; this one gets a folder of its name in it.")
    ],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the files that are there already, and mend them.")
    ] = False,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Another address of the same files.")
    ] = None,
) -> None:
    """Download a dataset from its publisher and verify it; run again to continue.

    Example: marecg data get georgia --out /data
    """
    from ecg_records.readers.catalogue import dataset
    from marecg.corpus.download import get

    result(str(get(dataset(name), out, base=mirror, verify=verify)))


def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run, a model, owner/name on the hub, or a folder of `marecg classify fit`."
        ),
    ],
    out: Annotated[Path, typer.Option(help="What to write: .onnx, or .pt2 for --to torch.")],
    to: Annotated[
        Literal["onnx", "torch"], typer.Option(help="ONNX, or a program of torch.export.")
    ] = "onnx",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Where a classifier's test records lie, of which some are compared with `marecg predict`. "
            "[default: the corpus that it was fitted on]"
        ),
    ] = None,
    form: As = "text",
) -> None:
    """Write an encoder or a classifier as one file without marecg.

    A file that differs from the model isn't written. A classifier's takes whole records, as `marecg predict`
    does: windows, head, calibration and thresholds are inside.

    Example: marecg export runs/c3 --to onnx --out encoder.onnx
    """
    from marecg.classify.fit_classifier import judged_recordings
    from marecg.use.export import TOLERANCE
    from marecg.use.export import export as export_run

    corpus, recordings = judged_recordings(source, data)
    done = export_run(source, to, out, recordings)
    if form == "json":
        result_json({**asdict(done), "path": str(done.path)})
        return
    size = done.path.stat().st_size / 1e6
    opset = f", opset {done.about['opset']}" if "opset" in done.about else ""
    result(f"{done.path}: {size:.1f} MB, torch {done.about['torch']}{opset}")
    what = "one window each" if corpus is None else "whole, of random length"
    numbers = f"{done.records} random records ({what}): {done.difference:.1e} (≤ {TOLERANCE:g})"
    result(f"largest difference from the model in {numbers}")
    if done.real is not None:
        real = done.real
        result(
            f"from `marecg predict` in {real.records} test records of {corpus}: {real.difference:.1e}; "
            f"calls that change: {real.changed} of {real.records}"
        )
    elif corpus is not None:
        message(f"no recorded ECG was compared: {corpus} isn't there; name the corpus by --data")
