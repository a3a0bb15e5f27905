"""`marecg report`: a run, or one record, as a page to read and to print.

`marecg report RUN` is `marecg report whole RUN`. Each command imports what it runs inside itself.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._commands import add, application
from marecg_cli._given import PLACE
from marecg_cli._inference import model_and_record
from marecg_cli._output import result


def whole(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run.")],
    data: Annotated[
        Path | None,
        typer.Option(**PLACE, help="A prepared corpus, to show records and their neighbours."),
    ] = None,
    record: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RECORD",
            help="A record to show, in any format that is read, any leads and rate; may be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The HTML file. [default: report.html of the run, records.html with --record]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a run's page, which opens without a network and prints to scale, and its pictures.

    Example: marecg report run --data corpus
    """
    from marecg.report.writing import write_report

    result(str(write_report(run, data, record or (), out)))


class Language(StrEnum):
    """The languages of the page of a record."""

    en = "en"
    de = "de"


def record(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] RECORD",
            help="A run, a model or owner/name on the hub; marecg-small if none is named. Then a record "
            "in any format that is read, any leads and rate.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The HTML file.")],
    data: Annotated[
        Path | None,
        typer.Option(**PLACE, help="A prepared corpus, for the most similar labelled ECGs."),
    ] = None,
    lang: Annotated[Language, typer.Option(help="The language of the page.")] = Language.en,
) -> None:
    """Write a page of one record for whoever reads ECGs; nothing else of the run is touched.

    Example: marecg report record georgia/g1/E00001 --out E00001.html

    Example: marecg report record run georgia/g1/E00001 --out E00001.html --data corpus --lang de
    """
    from marecg.report.record_page import write_record

    model, read = model_and_record(given)
    result(str(write_record(model, read, out, data=data, language=lang.value)))


app = application(
    "Write a run, or one record, as a page to read and to print.\n\nExample: marecg report run --data corpus",
    {"pages": ("whole", "record")},
    default="whole",
)
add(app, (whole, record))
