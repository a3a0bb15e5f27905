"""Define the commands `marecg synth`, `marecg prepare` and `marecg audit`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ecg_base import UsageError
from marecg_cli._corpus_text import (
    print_audit,
    print_comparison,
    print_statistics,
    print_table,
    tell_codes,
    tell_quarantined,
)
from marecg_cli._options import LOCAL, As, Corpus, Fs, Profile, by_group, one_of, set_option
from marecg_cli._output import EXIT_FINDINGS, problem, result, result_json, say_first


def _diagnoses() -> list[str]:
    from ecg_synth import DIAGNOSES

    return list(DIAGNOSES)


def _quirks() -> list[str]:
    from ecg_synth import QUIRKS

    return [*QUIRKS, "all"]


def synth(
    out: Annotated[Path, typer.Option(help="Folder to write; replaces an older synthetic corpus.")],
    records: Annotated[int, typer.Option(help="Number of records without defects.")] = 100,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same files.")] = 0,
    diagnosis: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ABBR",
            help="Main finding to draw; may be repeated. [default: all]",
            **one_of(_diagnoses),
        ),
    ] = None,
    noise: Annotated[float, typer.Option(help="Noise level: 0 is clean, 1 is typical.")] = 1.0,
    label_noise: Annotated[float, typer.Option(help="Share of headers with a wrong or missing code.")] = 0.0,
    quirk: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Add a defective record of this kind, or `all`; may be repeated.",
            **one_of(_quirks),
        ),
    ] = None,
    form: As = "text",
) -> None:
    """Write synthetic ECGs as WFDB records with codes and ground truth.

    Example: marecg synth --out wfdb --records 600 --seed 0
    """
    from ecg_synth import DIAGNOSES, QUIRKS, write_corpus
    from marecg.base.progress import shown

    quirks = tuple(QUIRKS) if quirk == ["all"] else tuple(quirk or ())
    written = write_corpus(
        out,
        records,
        seed,
        diagnoses=tuple(diagnosis or ()),
        noise=noise,
        label_noise=label_noise,
        quirks=quirks,
        progress=shown,
    )
    if form == "json":
        result_json({"records": len(written.names), "diagnoses": written.diagnoses})
        return
    rows = {name: (DIAGNOSES[name].name, count) for name, count in written.diagnoses.items()}
    print_table(f"{len(written.names)} records in {out}", ("finding", "name", "records"), rows)


def prepare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…",
            help="Folder of records in any supported format, or array file, local or s3://…",
        ),
    ],
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Corpus folder to write, local or s3://…")],
    ontology: Annotated[
        str | None,
        typer.Option(
            help="Your own graph (folder of sources, bundle or .ttl file), or `extended` for the "
            "packaged graph with more findings. [default: the packaged graph]"
        ),
    ] = None,
    profile: Profile = "paper",
    set_: Annotated[
        list[str] | None,
        set_option(
            "Change a setting, for example zero_limit=0.5, codes.mapping=machine, "
            "codes.vocabulary=icd10, array.leads=I,II,V2 or array.units=uV; may be repeated."
        ),
    ] = None,
    select: Annotated[
        Literal["all", "paper"],
        typer.Option(help="paper: only the three sources of the paper, with a comparison to its tables."),
    ] = "all",
    fs: Fs = None,
    codes: Annotated[
        Path | None,
        typer.Option(**LOCAL, help="Table with the codes of the records: .csv, .tsv, .xlsx or .parquet."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 for one per core.")] = -1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers prepare the records.")
    ] = None,
    form: As = "text",
) -> None:
    """Prepare a corpus from hospital records; run again to continue after an interruption.

    Prints counts of records and codes. The exit code is 1 if every record is quarantined.

    Arrays (.npy, .npz, .h5, .parquet, .mat, .csv) need --fs. Codes are read from the files, or from --codes,
    a table with one row per record and code. With --set codes.mapping=machine, the statements of
    electrocardiographs are also mapped to codes.

    Example: marecg prepare /data/georgia /data/ptb --out corpus
    """
    from ecg_records.storage.copies import ensure_local
    from marecg.corpus.config import CorpusConfig
    from marecg.corpus.prepare import prepare
    from marecg.corpus.statistics import COLLECTIONS, reconcile, statistics
    from marecg.recipes.overrides import with_settings
    from marecg_cli._settings import array_layout, codes_of

    array_settings, rest = by_group("array.", set_)
    code_settings, rest = by_group("codes.", rest)
    config = with_settings(CorpusConfig, rest)
    layout, table = array_layout(fs, array_settings), codes_of(codes, code_settings)
    only = COLLECTIONS if select == "paper" else ()
    account = prepare(
        sources,
        out,
        config,
        profile=profile,
        only=only,
        jobs=jobs,
        cluster=cluster,
        layout=layout,
        codes=table,
        ontology=ontology,
    )
    tables = statistics(ensure_local(out))
    compared = reconcile(tables) if select == "paper" else ()
    if form == "json":
        rows = {"reconciliation": [row.model_dump() for row in compared]} if compared else {}
        result_json(account.as_json() | {"statistics": tables.as_json()} | rows)
    else:
        print_statistics(tables)
        print_comparison(compared)
        report = f"{out.rstrip('/')}/report.json"
        tell_quarantined(account.records, report)
        say_first("kept with changed leads", account.mended_lines(), f"in {report}")
        tell_codes(account.codes, report)
    if account.found and not account.kept:
        problem(f"{out}: all {account.found} records are quarantined. See report.json for the reasons")
        raise typer.Exit(EXIT_FINDINGS)


def audit(
    data: Corpus,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE", help="Evaluation records, local or s3://…; may be repeated."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every signal and compare it with the index.")
    ] = False,
    form: As = "text",
) -> None:
    """Find evaluation records and damaged records in a corpus. The exit code is 1 if there are any.

    Example: marecg audit corpus --against /data/ptb-xl

    Example: marecg audit corpus --verify
    """
    from marecg.corpus.audit import audit, damaged_records

    if not (against or verify):
        raise UsageError("--against SOURCE or --verify is required")
    damaged = damaged_records(data) if verify else None
    overlap = audit(data, against) if against else None
    if form == "json":
        found = overlap.model_dump(mode="json") if overlap else {}
        result_json(found if damaged is None else found | {"damaged": damaged})
    else:
        if damaged is not None:
            result(f"{len(damaged)} damaged records")
        if overlap:
            print_audit(overlap)
    say_first("damaged", damaged or (), "with --format json", problem)
    if damaged:
        problem("Records are damaged. Remove the corpus and prepare it again")
    if damaged or (overlap and overlap.leaking):
        raise typer.Exit(EXIT_FINDINGS)
