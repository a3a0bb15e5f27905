"""`marecg cohort`: select records by findings, age, sex, date or device."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from ecg_base import UsageError, replacing
from marecg_cli._options import Corpus
from marecg_cli._output import message, result

TableFormat = Literal["csv", "json", "parquet"]
"""How a table of records is written."""


def cohort(
    data: Corpus,
    where: Annotated[
        str,
        typer.Option(
            metavar="EXPRESSION",
            help="Concepts (with their descendants) and comparisons of columns such as age, sex, "
            "date or qrs, with and, or, not and parentheses.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write, or FOLDER/ for a corpus. [default: stdout]")
    ] = None,
    form: Annotated[
        TableFormat | None,
        typer.Option("--format", help="Output format. [default: by the file's ending, or csv]"),
    ] = None,
) -> None:
    """List the records that match an expression on findings, age, sex, date or device.

    If --out is a folder, it becomes a corpus of these records.

    Example: marecg cohort corpus --where 'AF and (LVH or LBBB) and age > 60 and sex = F' --out af.parquet

    Example: marecg cohort corpus --where 'MI and not Paced and date >= 2019-07' --out infarctions/
    """
    from collections import Counter

    from marecg.corpus.cohort import AS_TEXT, cohort, write
    from marecg.corpus.derived import write_subset
    from marecg.corpus.prepared import Corpus, refuse_own

    folder = out is not None and not out.suffix and form is None
    how = "csv" if folder else form or _as_it_ends(out)
    if how == "parquet" and out is None:
        raise UsageError("--format parquet needs --out FILE")
    corpus = Corpus.open(data)
    if out is not None:
        refuse_own(corpus.folder, out)
    table = cohort(corpus, where)
    counts = Counter(table["source"].to_pylist()).most_common()
    by_source = ", ".join(f"{source} {count:,}" for source, count in counts)
    message(f"{len(table):,} of {len(corpus):,} records{': ' if counts else ''}{by_source}")
    if out is None:
        result(AS_TEXT[how](table).rstrip("\n"))
    elif folder:
        write_subset(corpus, table["row"].to_pylist(), out, where)
    else:
        with replacing(out, private=True) as temporary:
            write(table, temporary, how)


def _as_it_ends(out: Path | None) -> str:
    ending = "csv" if out is None else out.suffix[1:]
    if ending not in get_args(TableFormat):
        remedy = f"End it in {', '.join(get_args(TableFormat))}, or say --format"
        raise UsageError(f"can't tell a format from {out}", remedy=remedy)
    return ending
