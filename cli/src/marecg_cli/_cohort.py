"""Define the command `marecg cohort`, which selects records and writes them as a table or a corpus."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from ecg_base import UsageError, replacing
from marecg_cli._options import Corpus
from marecg_cli._output import message, result

TableFormat = Literal["csv", "json", "parquet"]
"""Format of a table of records."""


def cohort(
    data: Corpus,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="EXPRESSION",
            help="SQL condition on columns, for example concepts (with their descendants), age, sex, date "
            "or qrs. Needs the extra marecg[cohort]. [default: all records]",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Table to write, or FOLDER/ for a corpus. [default: stdout]")
    ] = None,
    form: Annotated[
        TableFormat | None,
        typer.Option("--format", help="Output format. [default: by the ending of the file, or csv]"),
    ] = None,
) -> None:
    """List the records that match a condition on findings, age, sex, date or device.

    Without --where, all records are listed. If --out is a folder, the records are written as a corpus.

    Example: marecg cohort corpus --out table.parquet

    Example: marecg cohort corpus --where "AF AND (LVH OR LBBB) AND age > 60 AND sex = 'F'" --out af.parquet

    Example: marecg cohort corpus --where "MI AND NOT Paced AND date >= '2019-07'" --out infarctions/
    """
    from collections import Counter

    from marecg.corpus.cohort import AS_TEXT, cohort, write
    from marecg.corpus.derived import write_subset
    from marecg.corpus.prepared import Corpus, refuse_own

    folder = out is not None and not out.suffix and form is None
    written_as = "csv" if folder else form or _format_of(out)
    if written_as == "parquet" and out is None:
        raise UsageError("--format parquet needs --out FILE")
    if folder and where is None:
        raise UsageError("a new corpus needs --where", remedy="Give --where, or end --out in .parquet")
    corpus = Corpus.open(data)
    if out is not None:
        refuse_own(corpus.folder, out)
    table = cohort(corpus, where)
    counts = Counter(table["source"].to_pylist()).most_common()
    by_source = ", ".join(f"{source} {count:,}" for source, count in counts)
    message(f"{len(table):,} of {len(corpus):,} records{': ' if counts else ''}{by_source}")
    if out is None:
        result(AS_TEXT[written_as](table).rstrip("\n"))
    elif folder:
        write_subset(corpus, table["row"].to_pylist(), out, where or "")
    else:
        with replacing(out, private=True) as temporary:
            write(table, temporary, written_as)


def _format_of(out: Path | None) -> str:
    ending = "csv" if out is None else out.suffix[1:]
    if ending not in get_args(TableFormat):
        remedy = f"End the name in {', '.join(get_args(TableFormat))}, or give --format"
        raise UsageError(f"the ending of {out} isn't a known format", remedy=remedy)
    return ending
