"""`marecg data`: the datasets of the field, fetched by name, and corpora handed on to other tools."""

from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._commands import SETTINGS
from marecg_cli._options import As, Corpus, one_of
from marecg_cli._output import result, result_json

ABOUT = "The datasets that are read by name: list them, get them; hand a corpus on to other tools."
data = typer.Typer(help=f"{ABOUT}\n\nExample: marecg data list", **SETTINGS)


def _names() -> list[str]:
    from marecg.read.catalogue import catalogue

    return list(catalogue())


@data.command("list", rich_help_panel="Datasets")
def list_(
    root: Annotated[Path | None, typer.Option(help="Count what this folder holds of each.")] = None,
    form: As = "text",
) -> None:
    """List every dataset by name, with its licence, size and address.

    Example: marecg data list --root /data
    """
    from marecg.read.catalogue import catalogue, records_on_disk

    counts = records_on_disk(root) if root else {}
    if form == "json":
        rows = [each.model_dump(mode="json") for each in catalogue().values()]
        result_json([row | ({"on_disk": counts[row["name"]]} if root else {}) for row in rows])
        return
    for each in catalogue().values():
        size = f", {each.size:g} GB" if each.size else ""
        here = f", {counts[each.name]:,} of them here" if root else ""
        codes = each.codes or "no codes: for pretraining only"
        result(f"{each.name}: {each.title}")
        result(f"    {each.records:,} records{size}{here}; {codes}; {each.licence or 'no licence stated'}")
        result(f"    {each.home}")


@data.command(rich_help_panel="Datasets")
def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A dataset by its name; `marecg data list` shows them.", **one_of(_names)
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
    """Download a dataset from its publisher and verify it; run again after an interruption, it goes on.

    Example: marecg data get georgia --out /data
    """
    from marecg.read.catalogue import dataset
    from marecg.read.download import get

    result(str(get(dataset(name), out, base=mirror, verify=verify)))


@data.command(rich_help_panel="Corpora")
def export(
    corpus: Corpus,
    out: Annotated[Path, typer.Option(help="A .h5, .hdf5 or .parquet file, or a folder of Parquet files.")],
) -> None:
    """Write a prepared corpus as HDF5 or Parquet: int16 signals in µV, labels, R-peaks, codes, patients.

    Example: marecg data export corpus --out corpus.h5
    """
    from marecg.corpus.export import export

    result(f"{export(corpus, out)} records in {out}")
