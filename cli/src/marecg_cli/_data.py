"""Define the commands `marecg data` (download datasets) and `marecg export` (export models)."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from marecg_cli._commands import SETTINGS
from marecg_cli._options import As, one_of
from marecg_cli._output import message, result, result_json

SUMMARY = "List and download public datasets."
data = typer.Typer(help=f"{SUMMARY}\n\nExample: marecg data list", **SETTINGS)


def _choice() -> list[str]:
    from ecg_records.readers.catalogue import catalogue

    return list(catalogue())


@data.command("list", rich_help_panel="Datasets")
def list_(
    root: Annotated[
        Path | None, typer.Option(help="Also count the records of each dataset in this folder.")
    ] = None,
    form: As = "text",
) -> None:
    """List all datasets with licence, size and address.

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
        codes = known.codes or "no codes, for pretraining only"
        result(f"{known.name}: {known.title}")
        result(f"    {known.records:,} records{size}{here}; {codes}; {known.licence or 'no licence stated'}")
        result(f"    {known.home}")


@data.command(rich_help_panel="Datasets")
def get(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of a dataset (see `marecg data list`).", **one_of(_choice)),
    ],
    out: Annotated[Path, typer.Option(help="Parent folder; the dataset gets a subfolder.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Also verify existing files, and download damaged files again.")
    ] = False,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Alternative address of the same files.")
    ] = None,
) -> None:
    """Download a dataset and verify it; run again to continue.

    Example: marecg data get georgia --out /data
    """
    from ecg_records.readers.catalogue import dataset
    from marecg.corpus.download import get

    result(str(get(dataset(name), out, base=mirror, verify=verify)))


def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="Run folder, model folder, owner/name on the hub, or classifier folder."
        ),
    ],
    out: Annotated[Path, typer.Option(help="File to write: .onnx, or .pt2 with --to torch.")],
    to: Annotated[Literal["onnx", "torch"], typer.Option(help="Format of the file.")] = "onnx",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Corpus of a classifier; the file is also compared with `marecg predict` on test records."
        ),
    ] = None,
    form: As = "text",
) -> None:
    """Export an encoder or a classifier to a file that runs without marecg.

    The outputs of the file and of the model are compared before the file is written. An exported classifier
    accepts complete records. It contains windowing, head, calibration and thresholds.

    Example: marecg export runs/c3 --to onnx --out encoder.onnx
    """
    from marecg.classify.classifier_folder import is_classifier
    from marecg.classify.fit_classifier import judged_recordings
    from marecg.use.export import TOLERANCE
    from marecg.use.export import export as export_run

    of_records = is_classifier(source)
    recordings = judged_recordings(Path(source), data) if of_records and data else ()
    done = export_run(source, to, out, recordings)
    if form == "json":
        result_json({**asdict(done), "path": str(done.path)})
        return
    size = done.path.stat().st_size / 1e6
    opset = f", opset {done.about['opset']}" if "opset" in done.about else ""
    result(f"{done.path}: {size:.1f} MB, torch {done.about['torch']}{opset}")
    what = "complete, of random length" if of_records else "one window each"
    numbers = f"{done.records} random records ({what}): {done.difference:.1e} (≤ {TOLERANCE:g})"
    result(f"largest difference from {'the model' if of_records else '`marecg embed`'} in {numbers}")
    if done.real is not None:
        real = done.real
        result(
            f"from `marecg predict` in {real.records} test records of {data}: {real.difference:.1e}; "
            f"calls that change: {real.changed} of {real.records}"
        )
    elif of_records:
        message("only random records were compared; to compare recorded ECGs, give the corpus as --data")
