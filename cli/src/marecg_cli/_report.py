"""`marecg report`: a run, or one record, as a page to read and to print.

`marecg report RUN` is `marecg report whole RUN`. Each command imports what it runs inside itself.
"""

from pathlib import Path
from typing import Annotated

import typer

from marecg_cli._commands import add, application
from marecg_cli._output import result


def whole(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run.")],
    data: Annotated[
        Path | None, typer.Option(help="A prepared corpus, to show records and their neighbours.")
    ] = None,
    record: Annotated[
        list[Path] | None,
        typer.Option(metavar="WFDB", help="A WFDB record to show, any leads and rate; may be repeated."),
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


def record(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run, or a model folder.")],
    wfdb: Annotated[Path, typer.Argument(metavar="RECORD", help="A WFDB record, any leads and rate.")],
    out: Annotated[Path, typer.Option(help="The HTML file.")],
    data: Annotated[
        Path | None, typer.Option(help="A prepared corpus, for the most similar labelled ECGs.")
    ] = None,
    lang: Annotated[str, typer.Option(help="The language of the page: en or de.")] = "en",
) -> None:
    """Write a page of one record for whoever reads ECGs; nothing else of the run is touched.

    Example: marecg report record run georgia/g1/E00001 --out E00001.html --data corpus --lang de
    """
    from marecg.report.record_page import write_record

    result(str(write_record(run, wfdb, out, data=data, language=lang)))


app = application(
    "Write a run, or one record, as a page to read and to print.\n\nExample: marecg report run --data corpus",
    {"pages": ("whole", "record")},
    default="whole",
)
add(app, (whole, record))
