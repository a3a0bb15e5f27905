"""Commands that make and look at a corpus.

Each imports what it runs inside itself, so that `marecg --help` stays quick and loads no torch.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from marecg_cli._arrays import Fs, Gain, Key, Leads, Units, array_layout
from marecg_cli._output import EXIT_FINDINGS, Format, message, result, result_json


class Profile(StrEnum):
    """How codes are routed: as the paper prints it, or with its four slips mended."""

    paper = "paper"
    curated = "curated"


class Selection(StrEnum):
    """Which of the records found are wanted."""

    all = "all"
    paper = "paper"


def synth(
    out: Annotated[Path, typer.Argument(help="A new folder, or an older synthetic corpus to replace.")],
    records: Annotated[int, typer.Option(help="How many good records.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 0,
    diagnosis: Annotated[
        list[str] | None, typer.Option(help="Draw leading findings from these only (repeat the option).")
    ] = None,
    noise: Annotated[float, typer.Option(help="How noisy: 0 clean, 1 as usual.")] = 1.0,
    label_noise: Annotated[
        float, typer.Option(help="The share of headers with a wrong or missing code.")
    ] = 0.0,
    quirk: Annotated[
        list[str] | None, typer.Option(help="Add a bad record of this kind (repeat the option), or `all`.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print what was written.")] = Format.text,
) -> None:
    """Write a WFDB corpus of synthetic ECGs with codes, Challenge style, each with its truth beside it.

    Example: marecg synth demo-corpus --records 600 --seed 0
    """
    from marecg.data.synth import DIAGNOSES, QUIRKS, write_corpus

    quirks = tuple(QUIRKS) if quirk == ["all"] else tuple(quirk or ())
    with _progress() as watch:
        written = write_corpus(
            out,
            records,
            seed,
            diagnoses=tuple(diagnosis or ()),
            noise=noise,
            label_noise=label_noise,
            quirks=quirks,
            watch=lambda done, wanted: watch(wanted, done, 0),
        )
    if format_ is Format.json:
        result_json({"records": len(written.names), "diagnoses": written.diagnoses})
        return
    rows = {name: (DIAGNOSES[name].name, count) for name, count in written.diagnoses.items()}
    _print_table(f"{len(written.names)} records in {out}", ("finding", "name", "records"), rows)


def prepare(
    sources: Annotated[
        list[Path], typer.Argument(help="Folders of WFDB records, PTB-XL, folders of these, or array files.")
    ],
    out: Annotated[Path, typer.Option(help="The corpus folder to write.")],
    profile: Annotated[Profile, typer.Option(help="The routing profile of the labels.")] = Profile.paper,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Change one setting, such as zero_limit; may be repeated."
        ),
    ] = None,
    corpus: Annotated[
        Selection, typer.Option(help="Take `all` records, or the `paper`'s three sources, and compare.")
    ] = Selection.all,
    fs: Fs = None,
    leads: Leads = "",
    units: Units = "mV",
    gain: Gain = None,
    key: Key = "",
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers do the work.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print the account.")] = Format.text,
) -> None:
    """Prepare a corpus from hospital records; run again after an interruption, it goes on.

    Arrays (.npy, .npz, .h5, .hdf5, .parquet, .mat) need --fs, and the other options where they differ.

    Example: marecg prepare /data/georgia /data/ptb --out corpus
    """
    from marecg.data.corpus import prepare
    from marecg.data.paper_corpus import COLLECTIONS, reconcile
    from marecg.data.settings import with_settings
    from marecg.data.statistics import statistics

    config = with_settings(set_ or [])
    layout = array_layout(fs, leads, units, gain, key)
    only = COLLECTIONS if corpus is Selection.paper else ()
    with _progress() as watch:
        account = prepare(
            sources,
            out,
            config,
            profile=profile.value,
            only=only,
            jobs=jobs,
            cluster=cluster,
            watch=watch,
            layout=layout,
        )
    compared = reconcile(statistics(out)) if corpus is Selection.paper else []
    if format_ is Format.json:
        result_json(account | ({"reconciliation": compared} if compared else {}))
        return
    _print_accounts(account)
    if compared:
        rows = {row["what"]: (row["paper"], row["found"], row["why"]) for row in compared}
        _print_table("Beside the paper's corpus", ("what", "paper", "found", "why they differ"), rows)
    for entry in account["records"][:20]:
        message(f"quarantined: {entry['root']}/{entry['path']}: {entry['reason']}: {entry['message']}")
    if len(account["records"]) > 20:
        message(f"… and {len(account['records']) - 20} more in {out / 'report.json'}")


def stats(
    data: Annotated[Path, typer.Argument(help="A corpus that `marecg prepare` wrote.")],
    format_: Annotated[Format, typer.Option("--format", help="How to print the tables.")] = Format.text,
) -> None:
    """Print the paper's corpus tables, from this corpus.

    Example: marecg stats corpus --format json
    """
    from marecg.data.statistics import statistics

    found = statistics(data)
    if format_ is Format.json:
        result_json(found)
        return
    _print_accounts(found)
    per_record, kept = found["codes_per_record"], max(found["kept"], 1)
    shares = {n: (count, f"{count / kept:.1%}") for n, count in per_record.get("histogram", {}).items()}
    _print_table("Codes per record", ("codes", "records", "share"), shares)
    _print_table(
        "Records per leaf", ("leaf", "records"), {leaf: (n,) for leaf, n in found["leaves"].items() if n}
    )
    _print_table(
        "The corpus",
        ("what", "value"),
        {
            "unique codes": (found["codes"]["unique"],),
            **{f"… {status}": (n,) for status, n in found["codes"]["by_status"].items()},
            "codes per record, mean / median": (
                f"{per_record.get('mean', 0):.2f} / {per_record.get('median', 0):g}",
            ),
            "records without a leaf": (found["records_without_leaf"],),
            "records with R-peaks": (found["rpeaks"]["records_with"],),
            "beats per record, median": (found["rpeaks"]["per_record"].get("median", 0),),
            "seconds, shortest / median / longest": (
                " / ".join(f"{found['seconds'].get(name, 0):g}" for name in ("min", "median", "max")),
            ),
            "zero-padded records": (found["seconds"]["padded"],),
            "groups of identical signals": (found["duplicates"],),
            **{f"noted: {note}": (n,) for note, n in found["notes"].items()},
        },
    )


def audit(
    data: Annotated[Path, typer.Argument(help="A corpus that `marecg prepare` wrote.")],
    against: Annotated[list[Path], typer.Option(help="Evaluation records; may be repeated.")],
    format_: Annotated[Format, typer.Option("--format", help="How to print the findings.")] = Format.text,
) -> None:
    """Look for evaluation records in a corpus; exit code 1 when there are any.

    Example: marecg audit corpus --against /data/ptb-xl
    """
    from marecg.data.audit import audit

    found = audit(data, against)
    if format_ is Format.json:
        result_json(found)
    else:
        kinds = {
            "the same record id": "shared_ids",
            "a patient of the evaluation set": "shared_patients",
            "the same dataset": "same_dataset",
            "bit-identical signals": "identical",
            "near-duplicate signals": "similar",
            "any of these": "leaking",
        }
        title = f"{found['records']} corpus records against {found['evaluation_records']} evaluation records"
        _print_table(
            title,
            ("corpus records with", "records"),
            {name: (len(found[key]),) for name, key in kinds.items()},
        )
        for name in found["leaking"][:20]:
            message(f"leaking: {name}")
    if found["leaking"]:
        raise typer.Exit(EXIT_FINDINGS)


def gallery(
    data: Annotated[Path, typer.Argument(help="A corpus that `marecg prepare` wrote.")],
    sources: Annotated[list[Path], typer.Argument(help="The folders that it was prepared from.")],
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
) -> None:
    """Show what was quarantined, with pictures of examples per reason.

    Example: marecg gallery corpus /data/georgia /data/ptb --out quarantined.html
    """
    from marecg.data.gallery import gallery

    message(f"{gallery(data, sources, out)} pictures")
    result(str(out))


def _print_accounts(account: Mapping[str, Any]) -> None:
    """One row per source: what was found, kept, and quarantined under each reason."""
    reasons = list(account["quarantined"])
    with_rates = any("fs" in each for each in account["sources"].values())
    rows = {}
    for name, each in [*account["sources"].items(), ("total", account)]:
        share = f"{each['kept'] / max(account['kept'], 1):.1%}"
        rates = [", ".join(each.get("fs", []))] if with_rates else []
        rows[name] = (
            each["found"],
            each["kept"],
            share,
            *rates,
            *(each["quarantined"].get(r, 0) for r in reasons),
        )
    headings = ("source", "found", "kept", "share", *(["Hz"] if with_rates else []), *reasons)
    _print_table("Records", headings, rows)


def _print_table(title: str, headings: tuple[str, ...], rows: Mapping[str, tuple[object, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for number, heading in enumerate(headings):
        words = number == 0 or any(c.isalpha() for values in rows.values() for c in str(values[number - 1]))
        table.add_column(heading, justify="left" if words else "right")
    for name, values in rows.items():
        table.add_row(name, *(f"{value:,}" if isinstance(value, int) else str(value) for value in values))
    Console(width=None if Console().is_terminal else 200).print(table)


@contextmanager
def _progress() -> Iterator[Callable[[int, int, int], None]]:
    """A bar on stderr with counts by verdict, rate and time left; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[verdicts]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("records", total=None, verdicts="", rate="")

        def watch(found: int, kept: int, quarantined: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(
                task,
                total=found,
                completed=kept + quarantined,
                verdicts=f"{kept} kept, {quarantined} quarantined",
                rate=f"{speed:.0f} records/s" if speed else "",
            )

        yield watch


COMMANDS: tuple[Callable[..., None], ...] = (synth, prepare, stats, audit, gallery)
