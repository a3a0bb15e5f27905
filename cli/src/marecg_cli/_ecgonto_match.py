"""Define the command `ecgonto match`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import ecg_ontology
from ecg_base import UsageError
from marecg_cli._ecgonto_look import Source
from marecg_cli._options import As
from marecg_cli._output import message, result, result_json

if TYPE_CHECKING:
    from ecg_ontology.statements.reading import Mention


def match(
    codes: Annotated[
        Path | None, typer.Argument(help="Table with the columns code and label: .csv, .tsv or .xlsx.")
    ] = None,
    statements: Annotated[
        Path | None,
        typer.Option(
            help="Match statements instead of codes: a text file with a statement per line, or a table with"
            " the column statement (or report_0, report_1, … for MIMIC-IV-ECG)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Sheet of candidates to write: .xlsx, .tsv or .csv. [default: candidates.tsv]"),
    ] = None,
    table: Annotated[str, typer.Option(help="Routing table for accepted codes: base, curated, …")] = "base",
    candidates: Annotated[
        int, typer.Option("--top", "-n", min=1, help="Maximum number of candidates per code.")
    ] = 3,
    ontology: Source = None,
    form: As = "text",
) -> None:
    """Propose concepts for new codes or for statements.

    To accept candidates, write `add` next to them in the sheet, sign, and run `ecgonto review --apply`. For
    statements, the command prints the share of lines that it reads, and of records with a concept.

    Example: ecgonto match new_codes.csv --out candidates.xlsx
    """
    from ecg_ontology.curation.matching import candidate_rows, read_new_codes
    from ecg_ontology.curation.review import write_review

    if (codes is None) == (statements is None):
        remedy = "Give CODES for a sheet of candidates, or --statements for a report"
        raise UsageError("exactly one of CODES and --statements is required", remedy=remedy)
    onto = ecg_ontology.load(ontology, "curated")
    if statements is not None:
        _report_statements(onto, statements, out, form)
    if codes is None:
        return
    new = read_new_codes(codes, onto)
    rows = candidate_rows(onto, new, table, candidates)
    written = write_review(out or Path("candidates.tsv"), rows)
    if form == "json":
        result_json({"out": str(written), "candidates": [dict(row) for row in rows]})
    else:
        result(str(written))
    unmatched = sum(not row["node"] for row in rows)
    message(f"{len(new)} new codes, {unmatched} without a candidate; codes with a row are skipped")


def _report_statements(
    onto: "ecg_ontology.Ontology", statements: Path, out: Path | None, form: Literal["text", "json"]
) -> None:
    from ecg_ontology.statements.machines import read_statements, statement_report

    report = statement_report(onto, read_statements(statements))
    rows = [
        {
            "statement": use.text,
            "lines": str(use.lines),
            "read_by": use.read_by,
            "says": "; ".join(_mention_text(mention) for mention in use.says),
        }
        for use in report.statements
    ]
    if out is not None:
        from ecg_ontology.curation.sheets import write_sheet

        write_sheet(out, ("statement", "lines", "read_by", "says"), rows)
        message(f"{out}: a row for each distinct statement")
    if form == "json":
        counts = report.model_dump(exclude={"statements"})
        result_json(counts | {"statements": rows})
        return
    known = report.in_table + report.by_rules
    result(f"{report.lines} lines ({report.distinct} distinct) of {report.records} records")
    readers = f"{report.in_table} in the table, {report.by_rules} by rules"
    result(f"read: {_share(known, report.lines)} of lines ({readers})")
    result(f"records with a concept: {_share(report.records_coded, report.records)}")
    unread = [use for use in report.statements if not use.read_by][:_MAX_UNREAD]
    for use in unread:
        result(f"{use.lines:>8}  {use.text}")


_MAX_UNREAD = 20
"""Maximum number of unread statements that a report lists."""


def _share(part: int, total: int) -> str:
    return f"{part / total:.1%}" if total else "–"


def _mention_text(mention: "Mention") -> str:
    name = mention.concept.abbr if mention.concept else mention.finding
    words = [
        "denied" if mention.denied else "",
        "past" if mention.historical else "",
        "" if mention.certainty == "certain" else mention.certainty,
        mention.acuity,
    ]
    details = ", ".join(filter(None, words))
    return f"{name} ({details})" if details else name
