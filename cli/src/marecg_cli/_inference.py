"""Commands that apply a trained encoder to any ECG."""

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
        metavar="DURATION", help="Write one row per step of a long recording, for example 10s or 1min."
    ),
]


def embed(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] INPUT…",
            help="Optional model (a run, a model folder, or owner/name on the hub; default "
            "marecg-small-codes), then records, folders, prepared corpora or array files, "
            "local or s3://…",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE|FOLDER/",
            help="Output: .npz, .parquet, or a folder for many records, local or s3://…",
        ),
    ],
    fs: Fs = None,
    leads: Leads = "",
    patch: Annotated[bool, typer.Option("--patch", help="Also write H̄, one row per patch.")] = False,
    readout: Annotated[
        Readout,
        typer.Option(
            help="Features to write: rhythm, wide (adds statistics and amplitudes), beats (adds "
            "per-beat features), full (adds measurements)."
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

    Arrays (.npy, .npz, .h5, .parquet, .mat, .csv) need --fs. If --out is a folder, run again to continue
    after an interruption; --cluster shares the work.

    Example: marecg embed /data/georgia --out georgia.npz
    """
    from marecg_cli._settings import Sizes, array_layout, read

    run, *inputs = _with_model(given)
    of_arrays, others = by_group("array.", set_)
    sizes = read(Sizes, others).given()
    _refuse_absent(run, inputs)
    layout = array_layout(fs, of_arrays)
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
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] INPUT",
            help="Optional model (a run, a model or classifier folder, or owner/name on the hub; "
            "default marecg-small-codes), then a record, a folder, a corpus or an array file.",
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
            "Change a setting, for example risk=0.2 (how often an answer may be wrong), "
            "calibrate=labels.csv (adapts the answers to your hospital) or array.units=uV; may be repeated."
        ),
    ] = None,
    form: As = "text",
) -> None:
    """Print the concepts nearest to a record, or a classifier's probabilities. This is not a diagnosis.

    The shares of all concepts add up to 100 %. They are not calibrated. If the model has calibrated answers
    (marecg-small-codes), findings follow that are wrong in at most 10 % of cases. This holds only for
    hospitals similar to the calibration hospital (PTB-XL for marecg-small-codes). Several records give a CSV
    table with a row per record and a column per concept or class.

    Example: marecg predict /data/georgia/E00001

    Example: marecg predict clf corpus --out probabilities.csv

    Example: marecg predict holters/ --every 1min --out minutes.parquet
    """
    from marecg_cli._settings import Telling, array_layout
    from marecg_cli._settings import read as read_settings

    run, read = model_and_record(given)
    of_arrays, others = by_group("array.", set_)
    telling_ = read_settings(Telling, others)
    risk, labels = telling_.risk, telling_.calibrate
    _refuse_absent(run, [read])
    layout, step = array_layout(fs, of_arrays), _seconds(every)
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
    with signals_as(parse_leads(leads)):
        records = Inputs([read], layout, step)
        single = out is None and len(records if step is None else Inputs([read], layout)) == 1
    if labels is not None and (single or step is not None):
        raise UsageError("calibrate needs several records", remedy="Name the folder of the labelled records")
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
        print_steps(
            {at: nearest(reader, q_N, top) for at, q_N in zip(table["start"], shares, strict=True)}, form
        )
        return
    print_nearest(reader, shares[0], top, answers, risk, form)


def _seconds(every: str | None) -> float | None:
    from marecg.base.durations import seconds_of

    return None if every is None else seconds_of(every)


def model_and_record(words: list[str]) -> tuple[str, str]:
    """Split arguments into a model, which may be missing, and one record."""
    if len(words) > 2:
        raise UsageError(f"expected a record, or a model and a record, got {len(words)} names")
    run, *records = words if len(words) == 2 else _with_model(words)
    if not records:
        raise UsageError("is a model; name a record after it", where=run)
    return run, records[0]


def _with_model(words: list[str]) -> list[str]:
    """What was named, a model in front: the installed one where the first word names none."""
    from ecg_records.storage.places import is_remote
    from marecg.model.names import DEFAULT, names_model

    first = Path(words[0])
    on_disk = first.exists() or Path(f"{first}.hea").exists()
    if names_model(words[0]) or not (len(words) == 1 or on_disk or is_remote(words[0])):
        return words
    message(f"model: {DEFAULT}")
    return [DEFAULT, *words]


def _refuse_absent(run: str, inputs: Iterable[str]) -> None:
    """Refuse a model, and names of records, folders and arrays that don't exist, before torch is imported."""
    from marecg.model.names import local_folder

    local_folder(run)
    for name in inputs:
        path = Path(name)
        if not (path.exists() or Path(f"{path}.hea").exists() or path.with_suffix(".hea").exists()):
            refuse_missing(name)
