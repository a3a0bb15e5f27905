"""Define the commands `marecg embed` and `marecg predict`."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ecg_base import UsageError
from marecg_cli._options import As, Fs, Leads, Readout, by_group, refuse_missing, set_option
from marecg_cli._output import message
from marecg_cli._predictions_text import (
    print_calls,
    print_nearest,
    print_steps,
    print_table,
    tell_embedded,
    tell_problems,
)

Every = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION", help="Write a row per step of a long recording, for example 10s or 1min."
    ),
]


def embed(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] INPUT…",
            help="Optional model (run, model folder or owner/name on the hub; default "
            "marecg-small-codes), then records, folders, prepared corpora or array files, "
            "local or s3://…",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE|FOLDER/",
            help="Output: .npz, .parquet, or a folder (for many records), local or s3://…",
        ),
    ],
    fs: Fs = None,
    leads: Leads = "",
    patch: Annotated[bool, typer.Option("--patch", help="Also write H̄, with a row per patch.")] = False,
    readout: Annotated[
        Readout,
        typer.Option(
            help="Features to write: rhythm; wide (also statistics and amplitudes); beats (also "
            "features per beat); full (also measurements)."
        ),
    ] = "rhythm",
    every: Every = None,
    set_: Annotated[
        list[str] | None,
        set_option(
            "Change a setting, for example batch_size=32 or, for arrays, array.leads=I,II,V2 and "
            "array.units=uV; may be repeated."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Number of processes. [default: one per GPU, or up to one per core]",
            min=1,
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers embed the records.")
    ] = None,
    form: As = "text",
) -> None:
    """Embed ECGs with a frozen encoder. The exit code is 1 if a record can't be read.

    Arrays (.npy, .npz, .h5, .parquet, .mat, .csv) need --fs. If --out is a folder, run the command again to
    continue after an interruption, or distribute the work with --cluster.

    Example: marecg embed /data/georgia --out georgia.npz
    """
    from marecg_cli._settings import Sizes, array_layout, read

    run, *inputs = _with_model(words)
    array_settings, size_settings = by_group("array.", set_)
    sizes = read(Sizes, size_settings).given()
    _refuse_absent(run, inputs)
    layout = array_layout(fs, array_settings)
    from ecg_records.signal.leads import parse_leads, signals_as
    from marecg.embedding.embed_records import embed_records

    with signals_as(parse_leads(leads)):
        done = embed_records(
            run,
            inputs,
            out,
            layout=layout,
            patches=patch,
            readout=readout,
            step=_seconds(every),
            **sizes,
            jobs=jobs,
            cluster=cluster,
        )
    tell_embedded(out, asdict(done), form)


def predict(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] INPUT",
            help="Optional model (run, model folder, classifier folder or owner/name on the hub; "
            "default marecg-small-codes), then a record, folder, corpus or array file.",
        ),
    ],
    top: Annotated[int, typer.Option(help="Number of concepts to print.", min=1)] = 5,
    every: Every = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a table to this .csv or .parquet file."),
    ] = None,
    fs: Fs = None,
    leads: Leads = "",
    set_: Annotated[
        list[str] | None,
        set_option(
            "Change a setting, for example risk=0.2 (maximum share of wrong answers), "
            "calibrate=labels.csv (adapts the answers to your hospital) or array.units=uV; may be repeated."
        ),
    ] = None,
    form: As = "text",
) -> None:
    """Print the concepts nearest to a record, or the probabilities of a classifier. This is not a diagnosis.

    The shares of all concepts add up to 100 %. They aren't calibrated. If the model has calibrated answers
    (as marecg-small-codes), the command also prints findings that are wrong in at most 10 % of cases. This
    limit is only valid for hospitals similar to the calibration hospital (PTB-XL for marecg-small-codes). For
    several records, the command prints a CSV table with a row per record and a column per concept or class.

    Example: marecg predict /data/georgia/E00001

    Example: marecg predict clf corpus --out probabilities.csv

    Example: marecg predict holters/ --every 1min --out minutes.parquet
    """
    from marecg_cli._settings import Answers, array_layout, read

    run, record = model_and_record(words)
    array_settings, answer_settings = by_group("array.", set_)
    answer = read(Answers, answer_settings)
    risk, labels = answer.risk, answer.calibrate
    _refuse_absent(run, [record])
    layout, step = array_layout(fs, array_settings), _seconds(every)
    from ecg_records.signal.leads import parse_leads, signals_as
    from marecg.classify.classifier_folder import is_classifier
    from marecg.embedding.inputs import Inputs
    from marecg.use.predict import (
        RECORD_COLUMNS,
        answers_and_risk,
        nearest,
        predict_into,
        predict_table,
        reader_of,
    )

    if step is not None and is_classifier(run):
        raise UsageError("--every needs an encoder, got a classifier")
    if step is not None and labels is not None:
        raise UsageError("calibrate can't be combined with --every")
    with signals_as(parse_leads(leads)):
        records = Inputs([record], layout, step)
        single = out is None and len(records if step is None else Inputs([record], layout)) == 1
    if labels is not None and single:
        raise UsageError("calibrate needs several records", remedy="Give the folder of the labelled records")
    if out is not None:
        done = predict_into(run, records, out, risk, labels)
        tell_embedded(str(out), asdict(done), form, "predicted")
        return
    reader = reader_of(run)
    answers, risk = answers_and_risk(run, reader, risk, labels)
    table, done = predict_table(reader, records, answers, risk, labels)
    if not single:
        print_table(table, done, form)
        return
    tell_problems("left out", done.failed, done.doubtful)
    if is_classifier(run):
        print_calls(reader, table.iloc[0, len(RECORD_COLUMNS) : -1], form)
        return
    shares = table.iloc[:, len(RECORD_COLUMNS) : len(RECORD_COLUMNS) + len(reader.ontology)].to_numpy()
    if step is not None:
        starts = zip(table["start"], shares, strict=True)
        print_steps({start: nearest(reader, q_N, top) for start, q_N in starts}, form)
        return
    print_nearest(reader, shares[0], top, answers, risk, form)


def _seconds(every: str | None) -> float | None:
    from marecg.base.durations import seconds_of

    return None if every is None else seconds_of(every)


def model_and_record(words: list[str]) -> tuple[str, str]:
    """Return the model and the record that the arguments name.

    If the arguments name only a record, the default model is returned.
    """
    if len(words) > 2:
        raise UsageError(f"expected a record, or a model and a record, got {len(words)} names")
    run, *records = words if len(words) == 2 else _with_model(words)
    if not records:
        raise UsageError("is a model, so a record is missing", where=run, remedy="Give a record after it")
    return run, records[0]


def _with_model(words: list[str]) -> list[str]:
    """Return the arguments, with the default model in front if the first argument isn't a model."""
    from ecg_records.storage.places import is_remote
    from marecg.model.names import DEFAULT, names_model

    first = Path(words[0])
    on_disk = first.exists() or Path(f"{first}.hea").exists()
    if names_model(words[0]) or not (len(words) == 1 or on_disk or is_remote(words[0])):
        return words
    message(f"model: {DEFAULT}")
    return [DEFAULT, *words]


def _refuse_absent(run: str, inputs: Iterable[str]) -> None:
    """Raise `EcgError` before the slow import of torch if the model or an input doesn't exist."""
    from marecg.model.names import local_folder

    local_folder(run)
    for name in inputs:
        path = Path(name)
        if not (path.exists() or Path(f"{path}.hea").exists() or path.with_suffix(".hea").exists()):
            refuse_missing(name)
