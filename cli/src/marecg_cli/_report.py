"""Define the command `marecg report`, which writes an HTML page about a run or a record."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import ecg_records
from ecg_base import UsageError, replacing
from marecg_cli._inference import model_and_record
from marecg_cli._options import LOCAL, Fs, Leads, set_option
from marecg_cli._output import result


def report(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] [RECORD]",
            help="Finished run, or a record after an optional model (default marecg-small-codes).",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(**LOCAL, help="Prepared corpus; the page shows records from it."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write. [default: report.html in the run]")
    ] = None,
    beats: Annotated[
        Path | None,
        typer.Option(
            help="Also write the beats, as a .csv with a row per beat or as WFDB annotations (.ecgann)."
        ),
    ] = None,
    leads: Leads = "",
    fs: Fs = None,
    set_: Annotated[
        list[str] | None,
        set_option(
            "Describe an array file, for example array.leads=I,II,V2 or array.units=uV; may be repeated."
        ),
    ] = None,
    age: Annotated[
        float | None,
        typer.Option(
            metavar="YEARS", help="Age of the patient, for example 0.5. [default: the age in the file]", min=0
        ),
    ] = None,
    lang: Annotated[Literal["en", "de"], typer.Option(help="Language of the page of a record.")] = "en",
) -> None:
    """Write an HTML page about a run or a record.

    Example: marecg report runs/c3 --data corpus

    Example: marecg report runs/c3 georgia/g1/E00001 --out E00001.html --data corpus --lang de
    """
    if beats is not None and beats.suffix not in (".csv", ".ecgann"):
        raise UsageError(f"--beats must end in .csv or .ecgann, got {beats}")
    for_run = len(words) == 1 and (out is None or Path(words[0]).is_dir())
    options = {"--beats": beats, "--age": age, "--fs": fs, "--leads": leads or None, "--set": set_ or None}
    for option, value in options.items():
        if value is not None and (for_run or out is None):
            raise UsageError(f"{option} needs a record and --out, the HTML file to write")
    if for_run:
        from marecg.model.names import installed
        from marecg.report.run_page import write_report

        if not Path(words[0]).exists() and installed(words[0]):
            problem = f"{words[0]} is an installed model and has no run page"
            raise UsageError(problem, remedy="Give a record after it, or a run folder instead")
        result(str(write_report(Path(words[0]), data, out)))
        return
    if out is None:
        raise UsageError("--out is missing", remedy="Give the HTML file to write")
    from ecg_records.measurements.beat_table import write_annotations
    from ecg_records.signal.leads import parse_leads, signals_as
    from marecg.report.record_page import write_record
    from marecg_cli._settings import array_layout

    model, record = model_and_record(words)
    leads_by_name, layout = parse_leads(leads), array_layout(fs, set_)
    with signals_as(leads_by_name):
        result(str(write_record(model, record, out, data=data, language=lang, age=age, layout=layout)))
    if beats is not None:
        recording = ecg_records.read(record, layout, leads=leads_by_name)
        table = ecg_records.delineate(recording)
        with replacing(beats) as temporary:
            if beats.suffix == ".csv":
                table.to_csv(temporary, index=False)
            else:
                write_annotations(table, recording.fs, temporary)
        result(str(beats))
