"""Print the tables and messages of the corpus commands.

Rich is imported only by the functions that need it, because `marecg --help` must be fast.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ecg_base import printable
from marecg_cli._output import console, message, result, say_first, turned

if TYPE_CHECKING:
    from marecg.corpus.account import Account, CodeAccount, Quarantined
    from marecg.corpus.audit import Audit
    from marecg.corpus.statistics import Compared, Statistics

LEAKS = {
    "shared_ids": "the same record id",
    "shared_patients": "a patient of the evaluation set",
    "same_dataset": "the same dataset",
    "identical": "bit-identical signals",
    "similar": "near-duplicate signals",
}
"""Description of each list of an `Audit`, for headings and messages."""


def print_accounts(
    total: "Account", sources: "Mapping[str, Account]", rates: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Print one row per source: found and kept records, and left-out (quarantined) records by reason.

    Args:
        total: counts for all sources together.
        sources: counts for each source.
        rates: native sampling rates of each source in Hz, or `None` to omit the column.
    """
    reasons = list(total.quarantined)
    rows = {}
    for name, account in [*sources.items(), ("total", total)]:
        shares = [f"{account.kept / max(count, 1):.1%}" for count in (account.found, total.kept)]
        hertz = [", ".join(rates.get(name, ()))] if rates else []
        counts = (account.quarantined.get(reason, 0) for reason in reasons)
        rows[name] = (account.found, account.kept, *shares, *hertz, *counts)
    headings = ("source", "found", "kept", "kept %", "of corpus", *(["Hz"] if rates else []), *reasons)
    print_table("Records", headings, rows)


def print_comparison(compared: "Sequence[Compared]") -> None:
    """Print the comparison of a corpus with the paper's tables (`statistics.reconcile`), if there is one."""
    rows = {row.what: (row.paper, row.found, row.why) for row in compared}
    if rows:
        print_table("Comparison with the paper", ("value", "paper", "found", "reason"), rows)


def tell_quarantined(records: "Sequence[Quarantined]", report: object) -> None:
    """Print the first records that were left out of a corpus (quarantined), and the number of others.

    `report` is the path of the file that lists all of them.
    """
    lines = [f"{record.root}/{record.path}: {record.reason}: {record.message}" for record in records]
    say_first("quarantined", lines, f"in {report}")


def tell_codes(account: "CodeAccount | None", report: object) -> None:
    """Print the first mismatches between a corpus and its code table. Without a code table, print nothing.

    Mismatches are records without a row in the table, ids in the table without a record, and codes that reach
    no concept. `report` is the path of the file that lists all of them.
    """
    if account is None:
        return
    unmatched, rowless = account.ids_without_record, account.records_without_row
    unrouted = account.reaching_nothing
    message(
        f"code table: {account.records_with_codes} records with codes, {len(rowless)} without a row, "
        f"{len(unmatched)} ids without a record, {len(unrouted)} codes without a concept"
    )
    say_first("record without a row", rowless, f"in {report}")
    say_first("id without a record", unmatched, f"in {report}")
    lines = [f"{code.code} ({code.status}), {code.records} records" for code in unrouted]
    say_first("code without a concept", lines, f"in {report}")


def print_statistics(tables: "Statistics") -> None:
    """Print the tables about a corpus that `statistics.statistics` returns."""
    print_accounts(tables, tables.sources, {name: source.fs for name, source in tables.sources.items()})
    per_record, records = tables.codes_per_record, max(tables.kept, 1)
    shares = {n: (count, f"{count / records:.1%}") for n, count in per_record.histogram.items()}
    print_table("Codes per record", ("codes", "records", "share"), shares)
    leaves = {leaf: (n,) for leaf, n in tables.leaves.items() if n}
    print_table("Records per leaf", ("leaf", "records"), leaves)
    mean, median = per_record.mean or 0, per_record.median or 0
    seconds = " / ".join(
        f"{n or 0:g}" for n in (tables.seconds.min, tables.seconds.median, tables.seconds.max)
    )
    rows = {
        "unique codes": (tables.codes.unique,),
        **{f"… {status}": (n,) for status, n in tables.codes.by_status.items()},
        "codes per record, mean / median": (f"{mean:.2f} / {median:g}",),
        "records without a leaf": (tables.records_without_leaf,),
        "records with R-peaks": (tables.rpeaks.records_with,),
        "beats per record, median": (tables.rpeaks.per_record.median or 0,),
        "seconds, shortest / median / longest": (seconds,),
        "zero-padded records": (tables.seconds.padded,),
        "groups of identical signals": (tables.duplicates,),
        **{f"noted: {note}": (n,) for note, n in tables.notes.items()},
    }
    print_table("The corpus", ("what", "value"), rows)


def print_audit(overlap: "Audit") -> None:
    """Print the result of `audit.audit`: counts on stdout, and the affected records as messages."""
    title = f"{overlap.records} corpus records against {overlap.evaluation_records} evaluation records"
    rows = {words: (len(getattr(overlap, key)),) for key, words in LEAKS.items()}
    rows["any of these"] = (len(overlap.leaking),)
    print_table(title, ("corpus records with", "records"), rows)
    for what, shares in (("codes", overlap.codes), ("leaves", overlap.leaves)):
        counts = f"{shares.corpus} in the corpus, {shares.evaluation} in the evaluation set"
        result(f"{what}: {counts}, {len(shares.shared)} in both")
    rows_by_name = {
        words: {pair if isinstance(pair, str) else pair[0] for pair in getattr(overlap, key)}
        for key, words in LEAKS.items()
    }
    lines = [
        f"{record}: {', '.join(words for words, records in rows_by_name.items() if record in records)}"
        for record in overlap.leaking
    ]
    say_first("leaking", lines, "with --format json")


def print_table(title: str, headings: tuple[str, ...], rows: Mapping[str, tuple[object, ...]]) -> None:
    """Print a table with a title. Columns of numbers are right-aligned. Words are never truncated."""
    from rich.table import Table

    cells = [
        [name, *(f"{value:,}" if isinstance(value, int) else str(value) for value in values)]
        for name, values in rows.items()
    ]
    heads, lines = turned(headings, [list(map(printable, line)) for line in cells])
    table = Table()
    for number, head in enumerate(heads):
        words = number == 0 or any(c.isalpha() for line in lines for c in line[number])
        table.add_column(head, justify="left" if words else "right", overflow="fold")
    for line in lines:
        table.add_row(*line)
    console().print(title, table)
